#include "runtime/worker/workload/llm/parameters.h"

#include <doctest/doctest.h>

using namespace expc::workload::llm;
using llvm::json::Array;
using llvm::json::Object;
namespace llama = expc::llama;

namespace {

Parameters read(Object object) {
  auto result = readParameters(object);
  REQUIRE(bool(result));
  return *result;
}

std::string refusal(Object object) {
  auto result = readParameters(object);
  return result ? "" : llvm::toString(result.takeError());
}

}  // namespace

TEST_CASE("absent parameters have the defaults that are declared") {
  const Parameters defaults = read({});
  Object declared;
  for (const auto& param : declaredParameters()) declared[param.name] = param.value;
  const Parameters given = read(std::move(declared));
  CHECK(given.method == defaults.method);
  CHECK(given.model.name == defaults.model.name);
  CHECK(given.data.synthetic == defaults.data.synthetic);
  CHECK(given.kind == defaults.kind);
  CHECK((given.precision == defaults.precision));
  CHECK(given.targets == defaults.targets);
  CHECK(given.qat_weights == defaults.qat_weights);
  CHECK(given.sharding == defaults.sharding);
}

TEST_CASE("models, rows and tokenizers are names or paths") {
  const Parameters given = read(Object{{"model", Object{{"folder", Array{"models/mine"}}}},
                                       {"data", Object{{"file", Array{"rows.csv"}}}},
                                       {"tokenizer", Object{{"file", Array{"t.model"}}}}});
  CHECK(given.model.name.empty());
  CHECK(given.model.folder == "models/mine");
  CHECK(given.data.path == "rows.csv");
  CHECK(given.tokenizer == "t.model");
  CHECK(read(Object{{"data", Object{{"synthetic", Array{"64"}}}}}).data.synthetic == 64);
}

TEST_CASE("what makes no sense is named with what it may be") {
  CHECK(refusal(Object{{"method", "ia3"}}) ==
        "parameter method is \"ia3\", it must be one of lora, full, qlora, qat, dpo");
  CHECK(refusal(Object{{"model", "gpt2"}}).find("it must be llama3_8b, llama3_2_3b") != std::string::npos);
  CHECK(refusal(Object{{"data", Object{{"synthetic", Array{0}}}}}).find("{\"synthetic\":[rows]}") != std::string::npos);
  CHECK(refusal(Object{{"data", Object{{"folder", Array{1}}}}}).find("{\"folder\":[\"a folder\"]}") !=
        std::string::npos);
  CHECK(refusal(Object{{"group_size", 48}}) == "parameter group_size is 48, it must be 32, 64, 128 or 256");
  CHECK(refusal(Object{{"max_length", 8}}).find("parameter max_length is 8, it must be a number from 16") !=
        std::string::npos);
  CHECK(refusal(Object{{"colour", 1}}) == "llm.finetune has no parameter colour");
  CHECK(refusal(Object{{"method", "dpo"}, {"packing", true}}).find("false with method dpo") != std::string::npos);
}

TEST_CASE("a method is what the decoder is made with") {
  const auto options = [](Object object) { return decoderOptions(read(std::move(object)), c10::kCPU); };
  CHECK(options(Object{{"method", "full"}}).lora == std::nullopt);
  const auto qlora = options(Object{{"method", "qlora"}, {"rank", 4}, {"targets", "qv"}});
  CHECK(qlora.nf4);
  CHECK(qlora.lora->rank == 4);
  CHECK(qlora.lora->targets.size() == 2);
  const auto qat =
      options(Object{{"method", "qat"}, {"group_size", 32}, {"qat_weights", "recomputed"}, {"max_length", 64}});
  CHECK(qat.qat->group == 32);
  CHECK(qat.qat->copies == llama::QuantCopies::Recomputed);
  CHECK(qat.max_length == 64);
  CHECK_FALSE(qat.lora);
  CHECK(options(Object{{"method", "dpo"}}).lora);
  CHECK_FALSE(options(Object{{"method", "dpo"}, {"dpo_base", "full"}}).lora);
}

TEST_CASE("choices of modules, layers and alphas are lists without repetition") {
  const Parameters given = read(Object{{"modules", Array{"q", "down"}},
                                       {"adapted_layers", Array{1, 3}},
                                       {"alphas", Array{Array{"q", 32}}},
                                       {"modules_to_save", Array{"head"}},
                                       {"dora", true}});
  const auto options = decoderOptions(given, c10::kCPU);
  CHECK((options.lora->targets == std::vector{llama::Role::Query, llama::Role::Down}));
  CHECK((options.lora->layers == std::vector<int64_t>{1, 3}));
  CHECK(options.lora->scaleOf(llama::Role::Query) == 4);
  CHECK(options.lora->scaleOf(llama::Role::Down) == 2);
  CHECK(options.lora->dora);
  CHECK(refusal(Object{{"modules", Array{"q", "q"}}}).find("it must be a list of \"q\", \"k\"") != std::string::npos);
  CHECK(refusal(Object{{"alphas", Array{Array{"q"}}}}).find("a list of pairs") != std::string::npos);
  CHECK(refusal(Object{{"modules_to_save", Array{"head"}}, {"gpus", 2}}).find("ddp where modules_to_save") !=
        std::string::npos);
  CHECK(refusal(Object{{"method", "dpo"}, {"beta", 0}}).find("above 0") != std::string::npos);
  CHECK(refusal(Object{{"evaluate", Object{{"steps", Array{0}}}}}).find("\"each_epoch\"") != std::string::npos);
  CHECK(refusal(Object{{"validation", "half"}}).find("{\"column\":[\"a name\"]}") != std::string::npos);
  CHECK(refusal(Object{{"packing", true}, {"loss_per", "row"}}).find("false with loss_per row") != std::string::npos);
}
