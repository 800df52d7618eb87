#include "runtime/data/model/llama.h"

#include <doctest/doctest.h>
#include <llvm/Support/JSON.h>

#include <string>
#include <utility>

namespace expc::llama {
namespace {

std::string errorOf(const char* text) {
  auto json = json::parse(text);
  REQUIRE(bool(json));
  auto config = configFromJson(*json);
  return config ? "" : toString(config.takeError());
}

int64_t parameterCount(const Config& config) {
  int64_t count = 0;
  for (const TensorSpec& spec : weightSpecs(config)) count += spec.elements();
  return count;
}

TEST_CASE("named models have the published numbers of weights") {
  CHECK(parameterCount(namedConfig("llama3_8b").value()) == 8030261248);
  CHECK(weightSpecs(namedConfig("llama3_8b").value()).size() == 291);
  CHECK(parameterCount(namedConfig("llama3_2_3b").value()) == 3212749824);
  CHECK(parameterCount(namedConfig("llama3_2_1b").value()) == 1235814400);
  CHECK(namedConfig("tiny")->layers == 4);
  CHECK_FALSE(namedConfig("llama4").has_value());
}

TEST_CASE("a configuration goes to JSON and back") {
  for (const char* name : {"llama3_8b", "llama3_2_3b", "tiny"}) {
    const Config config = namedConfig(name).value();
    auto read = configFromJson(configToJson(config, "bfloat16"));
    REQUIRE(bool(read));
    CHECK(parameterCount(*read) == parameterCount(config));
    CHECK(read->rope_scaling.has_value() == config.rope_scaling.has_value());
    if (config.rope_scaling) CHECK(read->rope_scaling->factor == config.rope_scaling->factor);
    CHECK(read->norm_epsilon == config.norm_epsilon);
    CHECK(read->tied == config.tied);
  }
}

TEST_CASE("ids of tokens are kept, and only those") {
  json::Object json = configToJson(namedConfig("tiny").value(), "float32");
  json["bos_token_id"] = 5;
  json["eos_token_id"] = json::Array{6, 7};
  json["pad_token_id"] = json::Array{json::Object{{"a", "b"}}};
  auto read = configFromJson(std::move(json));
  REQUIRE(bool(read));
  const json::Object written = configToJson(*read, "float32");
  CHECK(written.getInteger("bos_token_id") == 5);
  REQUIRE(written.getArray("eos_token_id") != nullptr);
  CHECK(*written.getArray("eos_token_id") == json::Array{6, 7});
  CHECK(written.get("pad_token_id") == nullptr);
}

TEST_CASE("newer files put the rotation's base beside its scaling") {
  auto json = configToJson(namedConfig("tiny").value(), "float32");
  json.erase("rope_theta");
  json["rope_parameters"] = json::Object{{"rope_type", "llama3"}, {"rope_theta", 250000.0}, {"factor", 4.0}};
  auto config = configFromJson(std::move(json));
  REQUIRE(bool(config));
  CHECK(config->rope_base == 250000);
  CHECK(config->rope_scaling->factor == 4);
}

TEST_CASE("one error lists everything that the decoder cannot be") {
  const std::string error = errorOf(R"({"model_type": "qwen2", "hidden_act": "gelu", "attention_bias": true,
    "vocab_size": -3, "hidden_size": 100, "num_hidden_layers": 1e9, "num_attention_heads": 7,
    "num_key_value_heads": 2, "rms_norm_eps": "small", "rope_scaling": {"rope_type": "yarn"}})");
  for (const char* part : {"model_type", "hidden_act", "attention_bias", "vocab_size", "num_hidden_layers",
                           "must divide", "intermediate_size", "rms_norm_eps", "yarn"}) {
    CAPTURE(part);
    CAPTURE(error);
    CHECK(error.find(part) != std::string::npos);
  }
  CHECK(errorOf("[]") == "expected an object");
  CHECK(errorOf("{}").find("no vocab_size") != std::string::npos);
  CHECK(errorOf(R"({"rope_scaling": 3})").find("rope_scaling must be an object") != std::string::npos);
}

}  // namespace
}  // namespace expc::llama
