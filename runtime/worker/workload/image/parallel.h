#pragma once

// The parameter `strategy`: how the devices of a trial share data and a step, as torch's DistributedDataParallel or
// DataParallel do (docs/semantics.md §9). Portion says which images a process loads; Parallel does its forward and
// backward passes.

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

/// The part of every global batch that a process loads. With every strategy device d of W trains on the same images
/// of a whole batch, those that torch's DistributedSampler gives rank d. So levels of `strategy` differ in how they
/// do the work, not in which images are drawn.
struct Portion {
  /// The portion of process `process` for `gpus` devices with `batch` images each in a step, out of `count` training
  /// images.
  static Portion of(Strategy strategy, int64_t gpus, int64_t batch, int64_t process, int64_t count, uint64_t seed);

  /// The images of an epoch in the order in which this process loads them.
  std::function<std::vector<int64_t>(int64_t epoch)> order;
  int64_t images = 0;  // loaded by this process in an epoch
  int64_t batch = 0;   // loaded by this process in a step
  int64_t slice = 0;   // the process trains on this slice of `slices` of a loaded batch
  int64_t slices = 1;
  /// Whether an epoch's short last batch would leave some device a single image. Batch norm has no variance then.
  bool tail_is_single = false;
};

/// Forward and backward passes over this process's share of the devices. Weights, running statistics and gradients
/// are the first replica's, the model that it was made with.
class Parallel {
 public:
  virtual ~Parallel() = default;
  /// Logits of a training batch, on the process's first device. backward() must follow before the next call.
  virtual at::Tensor forward(const at::Tensor& images) = 0;
  /// Runs the backward pass. The model's gradients are then what the optimiser steps with, averaged or summed.
  virtual void backward(const at::Tensor& loss) = 0;
  /// Does what is left to do once after the first backward pass; otherwise the next forward pass does it. A
  /// collective.
  virtual void settle() {}
  /// Called before evaluation, so that every process judges the same model. A collective.
  virtual void beginEvaluation() = 0;
  /// Logits in evaluation mode, without gradients.
  virtual at::Tensor evaluate(const at::Tensor& images) = 0;
  /// The generators that dropout draws from: the CPU's, and each other device's. A checkpoint keeps their states.
  virtual std::vector<at::Generator> generators() const = 0;
};

/// DistributedDataParallel: one process per device (ddp, ddp_ds). Dropout draws from the default generators.
std::unique_ptr<Parallel> makeRanks(comm::Communicator& communicator, model::MobileNetV2& model);

/// The place where one replica of dp computes.
struct ReplicaPlace {
  c10::Device device = c10::Device(c10::kCPU);
  std::vector<int> cores;  // its thread is bound to them; empty: the system decides
  int threads = 1;         // threads for operators on the CPU
};

/// One thread for each replica of dp, kept between steps and bound to its device's cores.
class ReplicaThreads {
 public:
  explicit ReplicaThreads(const std::vector<ReplicaPlace>& places);
  /// Calls task(i) in thread i for the first `count` threads, and returns when all have returned. If some throw, the
  /// exception of the first replica among them is thrown again here.
  void run(size_t count, const std::function<void(size_t)>& task);

 private:
  std::vector<std::unique_ptr<c10::ThreadPool>> threads_;  // each with one thread
};

/// DataParallel: this process drives all devices (dp). Each forward pass copies parameters and buffers from the first
/// replica to the others, scatters the batch over them (torch.chunk: the last ones may get less or nothing), computes
/// in a thread for each, and gathers the logits on the first device. The backward pass sums gradients there. Only the
/// first replica's running statistics persist.
///
/// `first` was made with `options` and lives on places[0]; it must outlive the object. `autocast` is the type that
/// replicas compute in. Dropout of replica i draws from a generator seeded with seed + i, as rank i's would.
std::unique_ptr<Parallel> makeReplicas(model::MobileNetV2& first, const model::MobileNetV2Options& options,
                                       std::vector<ReplicaPlace> places, std::optional<c10::ScalarType> autocast,
                                       uint64_t seed);

}  // namespace expc::workload::image
