#pragma once

// The parameters of image.mobilenet_v2 as a trial's specification has them. stdlib/image.exp documents each one;
// defaults here and there must be equal, which a test checks.

#include <llvm/Support/JSON.h>

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/data/images/open.h"
#include "runtime/protocol/trial.h"
#include "runtime/worker/model/optimizer.h"
#include "runtime/worker/model/precision.h"
#include "runtime/worker/workload/image/feed.h"
#include "runtime/worker/workload/workload.h"

namespace expc::workload::image {

/// The training data; its path is as written in the study.
using Data = data::Source;

/// docs/semantics.md §8 and §9 define these.
enum class OptimizerKind { Sgd, Adam };
enum class Strategy { DdpDs, Dp, Ddp };

/// Where the host waits for the device in each step.
struct HostWaits {
  bool copies = false;  // until the batch is on the device
  bool loss = false;    // until the loss is known
  bool operator==(const HostWaits&) const = default;
};

/// Values that readParameters() returns are in range and fit each other.
struct Parameters {
  Data data;
  int64_t size = 224;  // pixels of a side of the network's input
  double width = 1.0;  // multiplier of the channels
  int64_t batch = 64;  // images of one rank in a step
  precision::Precision precision = precision::Precision::Fp32;
  bool channels_last = false;
  int64_t gpus = 1;
  OptimizerKind optimizer = OptimizerKind::Sgd;
  double learning_rate = 0.045;
  double momentum = 0.9;
  double weight_decay = 0.00004;
  optimizer::ScheduleKind schedule = optimizer::ScheduleKind::Constant;  // for quality trials; timed ones keep the rate
  std::string initial_weights;  // a safetensors file, as written in the study; "": drawn from the seed
  std::string checkpoints;      // a folder, as written in the study; "": none are kept
  bool deterministic = false;
  bool cudnn_benchmark = false;
  HostWaits host_waits;
  double warmup_epochs = 0;  // for quality trials
  Strategy strategy = Strategy::DdpDs;
  feed::LoaderKind loader = feed::LoaderKind::DataLoader;
  unsigned workers = 1, prefetch = 2;
  bool processes = false;  // worker_kind: processes rather than threads
  bool skip_corrupt = false;
  bool preload = false;
  bool pin_memory = false;
  feed::Transfer transfer = feed::Transfer::AsInput;
  bool on_device = false;   // preprocessing: on the device rather than on the CPU
  bool own_kernels = true;  // kernels: fused rather than plain
};

/// Names, types and defaults, in the order of stdlib/image.exp.
std::vector<Param> declaredParameters();

/// Reads {"data":{"mnist":["data/digits"]},"size":32,…}. Absent parameters have their defaults; numbers may be texts
/// of exact decimals. An error names the parameter, its value and what it may be.
Expected<Parameters> readParameters(const json::Object& object);

}  // namespace expc::workload::image
