#pragma once

// An optimiser's step over several passes (gradient accumulation, docs/semantics.md §8), on one rank or several:
// scaling in fp16, clipping, the schedule of the learning rate. Nothing here waits for the device.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/worker/comm/communicator.h"
#include "runtime/worker/model/optimizer.h"
#include "runtime/worker/model/precision.h"

namespace expc::llama {

/// A finished step.
struct StepResult {
  at::Tensor loss;  // the sum of this rank's shares, on the device
  double rate = 0;  // the learning rate that the step used
  /// The norm of all ranks' gradients before clipping, on the device. Undefined if gradients are not clipped; not
  /// finite if they overflowed in fp16 and the step changed nothing.
  at::Tensor gradient_norm;
};

/// The ranks that train one model, each on rows of its own.
struct Together {
  comm::Communicator* communicator = nullptr;
  /// True if each rank has a part of the parameters, with gradients already summed over the ranks
  /// (Decoder::trainsParts). Otherwise each has all parameters, and Steps::finish sums their gradients.
  bool parts = false;
};

/// The steps of one training. Not thread-safe; with other ranks all call the same functions in the same order.
class Steps {
 public:
  /// `largest_norm` 0 means no clipping. Without a schedule the optimiser's rate stays. If a parameter is fp16 the
  /// loss is scaled for the backward pass, and a step whose gradients overflow is left out. With other ranks a step
  /// equals the one that a single rank would make of all their passes.
  Steps(std::unique_ptr<optimizer::Optimizer> optimizer, std::vector<at::Tensor> parameters,
        std::optional<optimizer::WarmupSchedule> schedule, double largest_norm, std::optional<Together> together = {});

  /// Runs the backward pass for a pass's share of the step's loss: its summed loss divided by the weight of all
  /// passes and ranks (tokens learnt from, or pairs). That weight must be known before the first pass; then nothing
  /// is read from the device, and gradients need no division afterwards. `factor` multiplies the gradients only: it
  /// is the number of ranks if a reducer averages them.
  void add(const at::Tensor& share, double factor = 1);
  /// Sums gradients over other ranks if needed, clips them, steps, and drops them. At least one share must have been
  /// added.
  StepResult finish();

  /// The state of a training that continues: the scaler's (fp16) and the number of steps done.
  precision::GradScaler::State scalerState() const { return scaler_.state(); }
  void restore(const precision::GradScaler::State& scaler, int64_t done) {
    scaler_.restore(scaler);
    done_ = done;
  }

  int64_t done() const { return done_; }
  optimizer::Optimizer& optimizer() { return *optimizer_; }

 private:
  std::unique_ptr<optimizer::Optimizer> optimizer_;
  std::vector<at::Tensor> parameters_;
  std::optional<optimizer::WarmupSchedule> schedule_;
  double largest_norm_;
  std::optional<Together> together_;
  precision::GradScaler scaler_;
  at::Tensor loss_;  // summed on the device, because reading it would wait
  int64_t done_ = 0;
};

}  // namespace expc::llama
