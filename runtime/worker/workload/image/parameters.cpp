#include "runtime/worker/workload/image/parameters.h"

#include <array>

#include "runtime/worker/workload/parameter_reader.h"

namespace expc::workload::image {
namespace {

using llvm::json::Object;
using llvm::json::Value;

void readData(ParameterReader& reader, Data& data) {
  const Value* value = reader.get("data");
  const std::string wanted =
      R"({"mnist":["a folder"]}, {"folder":["a folder"]}, {"packed":["a file"]} or {"synthetic":[images]})";
  if (!value) return reader.fail("data", nullptr, wanted);
  const auto given = reader.variant("data");
  if (!given) return reader.fail("data", *value, wanted);
  const llvm::StringRef name = given->level;
  const Value& argument = *given->argument;
  if ((name == "mnist" || name == "folder" || name == "packed") && argument.getAsString()) {
    data.kind = name == "mnist" ? Data::Kind::Mnist : name == "folder" ? Data::Kind::Folder : Data::Kind::Packed;
    data.path = argument.getAsString()->str();
  } else if (name == "synthetic") {
    data.kind = Data::Kind::Synthetic;
    const Object count{{"images", argument}};
    ParameterReader counted(count, "parameter data:");
    data.count = counted.whole("images", 1, 1, 10'000'000);
    if (auto error = counted.take()) {
      llvm::consumeError(std::move(error));
      reader.fail("data", *value, wanted);
    }
  } else {
    reader.fail("data", *value, wanted);
  }
}

}  // namespace

std::vector<Param> declaredParameters() {
  const Parameters defaults;
  return {{"data", "source", nullptr},
          {"size", "Pixels", defaults.size},
          {"width", "float", defaults.width},
          {"global_batch", "int", 0},
          {"batch", "int", defaults.batch},
          {"precision", "precision", "fp32"},
          {"layout", "layout", "nchw"},
          {"strategy", "strategy", "ddp_ds", {}, {"dp"}},
          {"gpus", "int", defaults.gpus},
          {"nodes", "int", 0},  // the engine places the ranks
          {"optimizer", "optimizer", "sgd"},
          {"learning_rate", "float", defaults.learning_rate},
          {"momentum", "float", defaults.momentum},
          {"weight_decay", "float", defaults.weight_decay},
          {"schedule", "schedule", "constant"},
          {"warmup_epochs", "float", defaults.warmup_epochs},
          {"initial_weights", "initial_weights", "random"},
          {"checkpoints", "checkpoints", "off"},
          {"kernels", "kernels", "fused"},
          {"deterministic", "bool", defaults.deterministic},
          {"cudnn_benchmark", "bool", defaults.cudnn_benchmark},
          {"loader", "loader", "dataloader"},
          {"on_corrupt", "on_corrupt", "fail"},
          {"workers", "int", defaults.loader.workers},
          {"worker_kind", "worker_kind", "threads"},
          {"preload", "bool", defaults.preload},
          {"prefetch", "int", defaults.loader.prefetch},
          {"pin_memory", "bool", defaults.pin_memory},
          {"transfer_dtype", "transfer_dtype", "as_input"},
          {"preprocessing", "preprocessing", "cpu"},
          {"numa", "numa", "near"}};
}

/// What the network makes one pixel of, along each axis.
constexpr int64_t kWholeReduction = 32;

llvm::Expected<Parameters> readParameters(const Object& object) {
  using precision::Precision;
  for (const auto& entry : object) {
    bool known = false;
    for (const Param& param : declaredParameters()) known |= llvm::StringRef(entry.first) == param.name;
    if (!known) return llvm::createStringError("image.mobilenet_v2 has no parameter " + llvm::StringRef(entry.first));
  }
  ParameterReader reader(object, "parameter");
  Parameters result;
  readData(reader, result.data);
  result.size = reader.whole("size", result.size, 1, 1 << 16);
  result.width = reader.number("width", result.width, 0.01, 100);
  result.batch = reader.whole("batch", result.batch, 1, 1 << 20);
  const int64_t global_batch = reader.whole("global_batch", 0, 0, 1 << 20);
  constexpr Precision kPrecisions[] = {Precision::Fp32, Precision::Fp64, Precision::Bf16, Precision::Fp16,
                                       Precision::Tf32};
  result.precision = kPrecisions[reader.word("precision", {"fp32", "fp64", "bf16", "fp16", "tf32"})];
  result.channels_last = reader.word("layout", {"nchw", "nhwc"}) == 1;
  using optim::ScheduleKind;
  constexpr ScheduleKind kSchedules[] = {ScheduleKind::Constant, ScheduleKind::Step, ScheduleKind::Cosine};
  result.schedule = kSchedules[reader.word("schedule", {"constant", "step", "cosine"})];
  result.warmup_epochs = reader.number("warmup_epochs", result.warmup_epochs, 0, 1e6);
  result.initial_weights = reader.path("initial_weights", "random", "file");
  result.checkpoints = reader.path("checkpoints", "off", "folder");
  result.own_kernels = reader.word("kernels", {"fused", "plain"}) == 0;
  result.deterministic = reader.flag("deterministic", result.deterministic);
  result.cudnn_benchmark = reader.flag("cudnn_benchmark", result.cudnn_benchmark);
  if (result.deterministic && result.cudnn_benchmark)
    reader.fail("cudnn_benchmark", true,
                "false where deterministic is true: the fastest algorithm differs from run to run");
  result.skip_corrupt = reader.word("on_corrupt", {"fail", "skip"}) == 1;
  result.loader.processes = reader.word("worker_kind", {"threads", "processes"}) == 1;
  result.strategy =
      std::array{Strategy::DdpDs, Strategy::Dp, Strategy::Ddp}[reader.word("strategy", {"ddp_ds", "dp", "ddp"})];
  using Loader = feed::LoaderChoice::Kind;
  result.loader.kind = std::array{Loader::DataLoader, Loader::Dali,
                                  Loader::Native}[reader.word("loader", {"dataloader", "dali", "native"})];
  result.preload = reader.flag("preload", result.preload);
  result.pin_memory = reader.flag("pin_memory", result.pin_memory);
  using feed::Transfer;
  result.transfer = std::array{Transfer::AsInput, Transfer::UInt8,
                               Transfer::Compute}[reader.word("transfer_dtype", {"as_input", "uint8", "compute"})];
  result.on_device = reader.word("preprocessing", {"cpu", "device"}) == 1;
  if (result.transfer == Transfer::UInt8 && !result.on_device)
    reader.fail("transfer_dtype", "uint8", "as_input or compute unless preprocessing is device");
  result.numa = std::array{Numa::Near, Numa::Any, Numa::Far}[reader.word("numa", {"near", "any", "far"})];
  result.gpus = reader.whole("gpus", result.gpus, 1, 1 << 20);
  if (global_batch > 0) {
    if (global_batch % result.gpus != 0) {
      reader.fail("global_batch", global_batch, "a multiple of gpus, " + std::to_string(result.gpus));
    }
    result.batch = global_batch / result.gpus;
  }
  if (result.batch == 1 && result.size <= kWholeReduction)
    reader.fail(global_batch > 0 ? "global_batch" : "batch", global_batch > 0 ? global_batch : 1,
                "2 or more for each device where size is 32 or less: the last maps have one pixel then, and batch norm "
                "makes a constant of a single value");
  result.optimizer = reader.word("optimizer", {"sgd", "adam"}) == 1 ? OptimizerKind::Adam : OptimizerKind::Sgd;
  result.learning_rate = reader.number("learning_rate", result.learning_rate, 0, 1e6);
  result.momentum = reader.number("momentum", result.momentum, 0, 1);
  result.weight_decay = reader.number("weight_decay", result.weight_decay, 0, 1e6);
  result.loader.workers = static_cast<unsigned>(reader.whole("workers", result.loader.workers, 0, 1 << 12));
  result.loader.prefetch = static_cast<unsigned>(reader.whole("prefetch", result.loader.prefetch, 1, 1 << 12));
  if (auto error = reader.take()) return error;
  return result;
}

}  // namespace expc::workload::image
