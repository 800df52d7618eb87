#pragma once

// How the devices of a trial share data and a step: parameter `strategy` (docs/semantics.md §9).

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <c10/core/thread_pool.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/worker/comm/communicator.h"
#include "runtime/worker/model/mobilenet_v2.h"
#include "runtime/worker/workload/image/parameters.h"

namespace expc::workload::image {

/// The part of every global batch that a process loads. Whatever the strategy, device d of W trains on the same images
/// of a whole batch, those that torch's DistributedSampler gives rank d: levels of `strategy` differ in how they do the
/// work, not in the draw.
struct Portion {
  /// `gpus` devices, `batch` images for each in a step, `count` training images; `process` of those that the strategy
  /// starts.
  static Portion of(Strategy strategy, int64_t gpus, int64_t batch, int64_t process, int64_t count, uint64_t seed);

  std::function<std::vector<int64_t>(int64_t epoch)> order;
  int64_t images = 0;  // of an epoch, loaded by this process
  int64_t batch = 0;   // loaded by this process for a step
  int64_t slice = 0;   // of a loaded batch, this slice of `slices` is trained on by this process
  int64_t slices = 1;
  /// The epoch's short last batch would leave a device a single image, whose batch norm has no variance.
  bool tail_is_single = false;
};

/// Forward and backward passes over this process's share of the devices. Weights, running statistics and gradients are
/// those of the model that it was made with, the first replica.
class Parallel {
 public:
  virtual ~Parallel() = default;
  /// Logits of a training batch, on the process's first device.
  virtual at::Tensor forward(const at::Tensor& images) = 0;
  /// Leaves in the model's gradients what the optimiser steps with.
  virtual void backward(const at::Tensor& loss) = 0;
  /// Does what is left to do only once, after the first backward pass; else the next forward pass does it. Every
  /// process calls it.
  virtual void settle() {}
  /// Before evaluation: every process judges the same model.
  virtual void beginEvaluation() = 0;
  /// Logits in evaluation mode, without gradients.
  virtual at::Tensor evaluate(const at::Tensor& images) = 0;
  /// Where dropout draws from: on the CPU, and on each other device.
  virtual std::vector<at::Generator> generators() const = 0;
};

/// DistributedDataParallel: a process for each device (ddp, ddp_ds). Dropout draws from the default generator.
std::unique_ptr<Parallel> makeRanks(comm::Communicator& communicator, model::MobileNetV2& model);

/// Where one replica of dp computes.
struct ReplicaPlace {
  c10::Device device = c10::Device(c10::kCPU);
  std::vector<int> cores;  // its thread is bound to them; none: where the system puts it
  int threads = 1;         // for operators on the CPU
};

/// A thread for each replica of dp, kept between steps, bound to its device's cores.
class ReplicaThreads {
 public:
  explicit ReplicaThreads(const std::vector<ReplicaPlace>& places);
  /// Calls task(i) in thread i for the first `count` threads and returns when all have returned. The first replica's
  /// exception, in their order, is thrown again here.
  void run(size_t count, const std::function<void(size_t)>& task);

 private:
  std::vector<std::unique_ptr<c10::ThreadPool>> threads_;  // of one thread each
};

/// DataParallel: this process drives all devices (dp). In every forward pass parameters and buffers go from the first
/// replica to the others, the batch is scattered over them on its first dimension (torch.chunk: the last ones may get
/// less or nothing), each computes in a thread of its own, and the logits are gathered on the first device. In the
/// backward pass gradients are summed there. Only the first replica's running statistics persist.
///
/// `first` was made with `options` and lives on places[0]. `autocast` is the type that replicas compute in. Dropout of
/// replica i draws from a generator seeded with seed + i, as rank i's would.
std::unique_ptr<Parallel> makeReplicas(model::MobileNetV2& first, const model::MobileNetV2Options& options,
                                       std::vector<ReplicaPlace> places, std::optional<c10::ScalarType> autocast,
                                       uint64_t seed);

}  // namespace expc::workload::image
