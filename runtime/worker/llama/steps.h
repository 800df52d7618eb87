#pragma once

// Steps of an optimiser over several passes (docs/semantics.md §8).

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/worker/comm/communicator.h"
#include "runtime/worker/optim/optimizer.h"
#include "runtime/worker/precision/precision.h"

namespace expc::llama {

/// What a step did.
struct StepResult {
  at::Tensor loss;  // the sum of this rank's shares, on the device
  double rate = 0;  // the learning rate that it used
  /// Of all ranks, before they were clipped, on the device; undefined where nothing is clipped or the step was left
  /// out.
  at::Tensor gradient_norm;
};

/// Ranks that train one model, each on rows of its own.
struct Together {
  comm::Communicator* communicator = nullptr;
  /// Every rank has its part of the parameters, with gradients that are summed over the ranks (Decoder::trainsParts).
  /// Else each has all of them, and Steps::finish sums their gradients.
  bool parts = false;
};

class Steps {
 public:
  /// `largest_norm` 0: gradients are not clipped. Without a schedule the optimiser's rate stays. In fp16 the loss is
  /// scaled while it goes back, and a step whose gradients overflow is left out. With other ranks a step is that of all
  /// their passes as if one rank had made them.
  Steps(std::unique_ptr<optim::Optimizer> optimizer, std::vector<at::Tensor> parameters,
        std::optional<optim::WarmupCosine> schedule, double largest_norm, std::optional<Together> together = {});

  /// Goes back from a pass's share of the step's loss: what it lost over the weight of all passes and ranks (tokens
  /// learnt from, or pairs), which must be known before the first of them, so that nothing is read from the device and
  /// gradients need no pass of their own. They are multiplied with `factor`: the number of ranks where others average
  /// them.
  void add(const at::Tensor& share, double factor = 1);
  /// Clips the gradients, with other ranks the sum of theirs, steps and drops them.
  StepResult finish();

  /// For a training that goes on: what the scaler of fp16 has learnt, and the number of steps done.
  precision::GradScaler::State scalerState() const { return scaler_.state(); }
  void restore(const precision::GradScaler::State& scaler, int64_t done) {
    scaler_.restore(scaler);
    done_ = done;
  }

  int64_t done() const { return done_; }
  optim::Optimizer& optimizer() { return *optimizer_; }

 private:
  std::unique_ptr<optim::Optimizer> optimizer_;
  std::vector<at::Tensor> parameters_;
  std::optional<optim::WarmupCosine> schedule_;
  double largest_norm_;
  std::optional<Together> together_;
  precision::GradScaler scaler_;
  at::Tensor loss_;  // summed on the device: reading it would wait
  int64_t done_ = 0;
};

}  // namespace expc::llama
