#include "runtime/worker/workload/image/parameters.h"

#include <doctest/doctest.h>

#include "runtime/worker/workload/declared/parameter_table.h"

using namespace expc;
using namespace expc::workload;
using namespace expc::workload::image;
using llvm::json::Array;
using llvm::json::Object;

namespace {

Object withData() { return Object{{"data", Object{{"mnist", Array{"data/digits"}}}}}; }

std::string refusal(const char* name, llvm::json::Value value) {
  Object object = withData();
  object[name] = std::move(value);
  auto result = readParameters(object);
  return result ? "" : llvm::toString(result.takeError());
}

std::string settingsRefusal(plan::TrialKind kind, Object settings) {
  protocol::TrialSpec spec;
  spec.kind = kind;
  spec.settings = std::move(settings);
  auto result = readSettings(spec);
  return result ? "" : llvm::toString(result.takeError());
}

}  // namespace

TEST_CASE("absent parameters have their defaults, numbers may be exact decimals in text") {
  Object object = withData();
  object["learning_rate"] = "0.0025";
  object["size"] = 300;
  object["precision"] = "bf16";
  object["layout"] = "nhwc";
  object["optimizer"] = "adam";
  auto result = readParameters(object);
  REQUIRE(bool(result));
  CHECK(result->data.path == "data/digits");
  CHECK(result->learning_rate == 0.0025);
  CHECK(result->size == 300);
  CHECK(result->precision == precision::Precision::Bf16);
  CHECK(result->channels_last);
  CHECK(result->optimizer == OptimizerKind::Adam);
  CHECK(result->batch == 64);
  CHECK(result->momentum == 0.9);
}

TEST_CASE("synthetic data has a count") {
  auto result = readParameters(Object{{"data", Object{{"synthetic", Array{500}}}}});
  REQUIRE(bool(result));
  CHECK(result->data.kind == Data::Kind::Synthetic);
  CHECK(result->data.count == 500);
}

TEST_CASE("a parameter that makes no sense is named with what it may be") {
  CHECK(refusal("precision", "fp8") ==
        "parameter precision is \"fp8\", it must be one of fp32, fp64, bf16, fp16, tf32");
  CHECK(refusal("batch", 1.5) == "parameter batch is 1.5, it must be a whole number");
  CHECK(refusal("batch", 0).find("parameter batch is 0, it must be a number from 1") == 0);
  CHECK(refusal("size", "big").find("parameter size is \"big\"") == 0);
  CHECK(refusal("learning_rate", nullptr).find("parameter learning_rate is null") == 0);
  CHECK(refusal("data", "mnist").find("parameter data is \"mnist\", it must be {\"mnist\":[\"a folder\"]}") == 0);
  CHECK(refusal("data", Object{{"synthetic", Array{-1}}}).find("parameter data is") == 0);
  CHECK(refusal("strategy", "fsdp").find("it must be one of ddp_ds, dp, ddp") != std::string::npos);
  CHECK(refusal("pin_memory", "yes").find("it must be true or false") != std::string::npos);
  CHECK(refusal("colour", 1) == "image.mobilenet_v2 has no parameter colour");
  auto none = readParameters(Object{});
  REQUIRE_FALSE(bool(none));
  CHECK(llvm::toString(none.takeError()).find("parameter data is null") == 0);
}

TEST_CASE("every level has its meaning") {
  using Loader = feed::LoaderKind;
  const auto read = [](const char* name, llvm::json::Value value) {
    Object object = withData();
    object[name] = std::move(value);
    auto result = readParameters(object);
    REQUIRE_MESSAGE(bool(result), llvm::toString(result.takeError()));
    return *result;
  };
  CHECK((read("loader", "native").loader == Loader::Native));
  CHECK((read("loader", "dali").loader == Loader::Dali));
  CHECK(read("worker_kind", "processes").processes);
  CHECK((read("strategy", "dp").strategy == Strategy::Dp));
  CHECK((read("strategy", "ddp").strategy == Strategy::Ddp));
  CHECK((read("precision", "tf32").precision == precision::Precision::Tf32));
  CHECK((read("transfer_dtype", "compute").transfer == feed::Transfer::Compute));
  CHECK(read("pin_memory", true).pin_memory);
  CHECK_FALSE(read("pin_memory", false).pin_memory);
  CHECK((read("host_waits", "never").host_waits == HostWaits()));
  CHECK((read("host_waits", "copies").host_waits == HostWaits{.copies = true}));
  CHECK((read("host_waits", "loss").host_waits == HostWaits{.loss = true}));
  CHECK((read("host_waits", "both").host_waits == HostWaits{.copies = true, .loss = true}));
}

TEST_CASE("initial weights and checkpoints are a word or a path") {
  Object object = withData();
  object["initial_weights"] = Object{{"file", Array{"w.safetensors"}}};
  object["checkpoints"] = Object{{"folder", Array{"kept"}}};
  object["deterministic"] = true;
  object["schedule"] = "cosine";
  object["warmup_epochs"] = "0.5";
  auto result = readParameters(object);
  REQUIRE(bool(result));
  CHECK(result->initial_weights == "w.safetensors");
  CHECK(result->checkpoints == "kept");
  CHECK(result->deterministic);
  CHECK(result->schedule == optimizer::ScheduleKind::Cosine);
  CHECK(result->warmup_epochs == 0.5);
  CHECK(refusal("initial_weights", "random").empty());
  CHECK(refusal("initial_weights", "zeros") ==
        R"(parameter initial_weights is "zeros", it must be "random" or {"file":["a path"]})");
  CHECK(refusal("checkpoints", Object{{"folder", Array{""}}}).find("it must be \"off\" or {\"folder\"") !=
        std::string::npos);
  CHECK(refusal("checkpoints", Object{{"folder", Array{7}}}).find("parameter checkpoints is") == 0);
  CHECK(refusal("schedule", "linear").find("it must be one of constant, step, cosine") != std::string::npos);
  CHECK(refusal("warmup_epochs", -1).find("parameter warmup_epochs is -1") == 0);
}

TEST_CASE("bytes that cross are normalised on the device") {
  CHECK(refusal("transfer_dtype", "uint8").find("it must be as_input or compute unless preprocessing is device") !=
        std::string::npos);
  Object object = withData();
  object["transfer_dtype"] = "uint8";
  object["preprocessing"] = "device";
  auto result = readParameters(object);
  REQUIRE(bool(result));
  CHECK((result->transfer == feed::Transfer::UInt8));
  CHECK(result->on_device);
}

TEST_CASE("a global batch is shared by the ranks") {
  Object object = withData();
  object["gpus"] = 4;
  object["global_batch"] = 256;
  auto result = readParameters(object);
  REQUIRE(bool(result));
  CHECK(result->batch == 64);
  object["global_batch"] = 254;
  auto uneven = readParameters(object);
  REQUIRE_FALSE(bool(uneven));
  CHECK(llvm::toString(uneven.takeError()) == "parameter global_batch is 254, it must be a multiple of gpus, 4");
}

TEST_CASE("a trial has the length of its kind") {
  CHECK(settingsRefusal(plan::TrialKind::Timed, Object{{"steps", 5}, {"warmup", 0}}).empty());
  CHECK(settingsRefusal(plan::TrialKind::Quality, Object{{"epochs", 1}}).empty());
  CHECK(settingsRefusal(plan::TrialKind::Timed, Object{{"epochs", 2}, {"warmup", 1}}).empty());
  CHECK(Settings{0, 1, 0, 2}.over(30).steps == 60);
  CHECK(Settings{5, 1}.over(30).steps == 5);
  CHECK(settingsRefusal(plan::TrialKind::Timed, Object{{"warmup", 1}}) ==
        "a timed trial needs its length: steps is not set");
  CHECK(settingsRefusal(plan::TrialKind::Timed, Object{{"steps", 0}}).find("setting steps is 0") == 0);
  CHECK(settingsRefusal(plan::TrialKind::Profile, Object{{"warmup", 5}}) ==
        "a profile trial needs its length: steps is not set");
}
