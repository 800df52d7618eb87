// The walk through the parameters of image.mobilenet_v2, which declares and reads them, and the checks that concern
// several of them together.

#include "runtime/worker/workload/image/parameters.h"

#include "runtime/worker/workload/declared/parameter_table.h"

namespace expc::workload::image {
namespace {

/// The factor by which the network reduces each side of the image: an input of that size ends in one pixel.
constexpr int64_t kWholeReduction = 32;

void describeData(ParameterTable& table, Data& data) {
  const std::string wanted =
      R"({"mnist":["a folder"]}, {"folder":["a folder"]}, {"packed":["a file"]} or {"synthetic":[images]})";
  auto source = table.source("data", "source", nullptr, {"mnist", "folder", "packed"}, wanted);
  if (!source) return table.fail("data", nullptr, wanted);
  data.kind = static_cast<Data::Kind>(source->level);  // levels are listed in the enumeration's order
  data.path = std::move(source->path);
  data.count = source->count;
}

/// Checks what concerns several parameters. A message names the one that a user would most likely change.
void check(ParameterTable& table, const Parameters& result, int64_t global_batch) {
  // Each check below is about parameters that contradict each other.
  if (result.deterministic && result.cudnn_benchmark)
    table.fail("cudnn_benchmark", true,
               "false where deterministic is true: the fastest algorithm differs from run to run");
  if (result.transfer == feed::Transfer::UInt8 && !result.on_device)
    table.fail("transfer_dtype", "uint8", "as_input or compute unless preprocessing is device");
  if (global_batch % result.gpus != 0)
    table.fail("global_batch", global_batch, "a multiple of gpus, " + std::to_string(result.gpus));
  if (result.batch == 1 && result.size <= kWholeReduction)
    table.fail(global_batch > 0 ? "global_batch" : "batch", global_batch > 0 ? global_batch : 1,
               "2 or more for each device where size is 32 or less: the last maps have one pixel then, and batch norm "
               "makes a constant of a single value");
}

/// Follows the order of stdlib/image.exp, which a test compares.
void describeParameters(ParameterTable& table, Parameters& result) {
  describeData(table, result.data);
  table.whole("size", result.size, 1, 1 << 16, "Pixels");
  table.number("width", result.width, 0.01, 100);
  int64_t global_batch = 0;
  table.whole("global_batch", global_batch, 0, 1 << 20);
  table.whole("batch", result.batch, 1, 1 << 20);
  using precision::Precision;
  table.word("precision", result.precision,
             {{"fp32", Precision::Fp32},
              {"fp64", Precision::Fp64},
              {"bf16", Precision::Bf16},
              {"fp16", Precision::Fp16},
              {"tf32", Precision::Tf32}});
  table.word("layout", result.channels_last, {{"nchw", false}, {"nhwc", true}});
  table.word("strategy", result.strategy, {{"ddp_ds", Strategy::DdpDs}, {"dp", Strategy::Dp}, {"ddp", Strategy::Ddp}})
      .one_process = {"dp"};
  table.whole("gpus", result.gpus, 1, 1 << 20);
  table.declare("nodes", "int", 0);  // the engine places the ranks
  table.word("optimizer", result.optimizer, {{"sgd", OptimizerKind::Sgd}, {"adam", OptimizerKind::Adam}});
  table.number("learning_rate", result.learning_rate, 0, 1e6);
  table.number("momentum", result.momentum, 0, 1);
  table.number("weight_decay", result.weight_decay, 0, 1e6);
  using optimizer::ScheduleKind;
  table.word("schedule", result.schedule,
             {{"constant", ScheduleKind::Constant}, {"step", ScheduleKind::Step}, {"cosine", ScheduleKind::Cosine}});
  table.number("warmup_epochs", result.warmup_epochs, 0, 1e6);
  table.path("initial_weights", result.initial_weights, "random", "file");
  table.path("checkpoints", result.checkpoints, "off", "folder");
  table.word("kernels", result.own_kernels, {{"fused", true}, {"plain", false}});
  table.flag("deterministic", result.deterministic);
  table.flag("cudnn_benchmark", result.cudnn_benchmark);
  table.word("host_waits", result.host_waits,
             {{"never", {}},
              {"copies", {.copies = true}},
              {"loss", {.loss = true}},
              {"both", {.copies = true, .loss = true}}});
  using Loader = feed::LoaderKind;
  table.word("loader", result.loader,
             {{"dataloader", Loader::DataLoader}, {"dali", Loader::Dali}, {"native", Loader::Native}});
  table.word("on_corrupt", result.skip_corrupt, {{"fail", false}, {"skip", true}});
  table.whole("workers", result.workers, 0, 1 << 12);
  table.word("worker_kind", result.processes, {{"threads", false}, {"processes", true}});
  table.flag("preload", result.preload);
  table.whole("prefetch", result.prefetch, 1, 1 << 12);
  table.flag("pin_memory", result.pin_memory);
  using feed::Transfer;
  table.word("transfer_dtype", result.transfer,
             {{"as_input", Transfer::AsInput}, {"uint8", Transfer::UInt8}, {"compute", Transfer::Compute}});
  table.word("preprocessing", result.on_device, {{"cpu", false}, {"device", true}});
  table.declare("numa", "numa", "near");  // the engine binds the memory
  // The global batch, if given, replaces the batch of a rank.
  if (global_batch > 0) result.batch = global_batch / result.gpus;
  check(table, result, global_batch);
}

}  // namespace

std::vector<Param> declaredParameters() { return declared(describeParameters); }

Expected<Parameters> readParameters(const json::Object& object) {
  return read("image.mobilenet_v2", object, describeParameters);
}

}  // namespace expc::workload::image
