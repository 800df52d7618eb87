#pragma once

// The parameters of image.mobilenet_v2 as they cross in a trial's specification.

#include <llvm/Support/Error.h>
#include <llvm/Support/JSON.h>

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/data/images/open.h"
#include "runtime/plan/trial.h"
#include "runtime/worker/feed/feed.h"
#include "runtime/worker/optim/optimizer.h"
#include "runtime/worker/precision/precision.h"
#include "runtime/worker/workload/workload.h"

namespace expc::workload::image {

/// Its path is as written in the study.
using Data = data::Source;

enum class OptimizerKind { Sgd, Adam };
enum class Strategy { DdpDs, Dp, Ddp };

struct Parameters {
  Data data;
  int64_t size = 224;
  double width = 1.0;
  int64_t batch = 64;  // of one rank
  precision::Precision precision = precision::Precision::Fp32;
  bool channels_last = false;
  int64_t gpus = 1;
  OptimizerKind optimizer = OptimizerKind::Sgd;
  double learning_rate = 0.045;
  double momentum = 0.9;
  double weight_decay = 0.00004;
  optim::ScheduleKind schedule = optim::ScheduleKind::Constant;  // of quality trials
  std::string initial_weights;  // a safetensors file, as written in the study; "": drawn from the seed
  std::string checkpoints;      // a folder, as written in the study; "": none are kept
  bool deterministic = false;
  bool cudnn_benchmark = false;
  double warmup_epochs = 0;  // of quality trials
  Strategy strategy = Strategy::DdpDs;
  feed::LoaderKind loader = feed::LoaderKind::DataLoader;
  unsigned workers = 1, prefetch = 2;
  bool processes = false;  // worker_kind
  bool skip_corrupt = false;
  bool preload = false;
  bool pin_memory = false;
  feed::Transfer transfer = feed::Transfer::AsInput;
  bool on_device = false;  // preprocessing
  bool own_kernels = true;
};

/// Names, types and defaults, in the order of stdlib/image.exp.
std::vector<Param> declaredParameters();

/// Reads {"data":{"mnist":["data/digits"]},"size":32,…}. Absent ones have their default, numbers may be exact decimals
/// in text. The error names the parameter, what it is and what it may be.
llvm::Expected<Parameters> readParameters(const llvm::json::Object& object);

}  // namespace expc::workload::image
