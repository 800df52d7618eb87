#pragma once

// How the learning rate changes over a training: a rate for each step.

#include <cstdint>

namespace expc::optim {

enum class ScheduleKind { Constant, Step, Cosine };

/// With W = warmup steps, T = total steps and t counted from 0 in the first step:
/// t < W: base (0.01 + 0.99 t / W), a line from a hundredth (torch's LinearLR with torchvision's start_factor);
/// then, with u = t - W: Constant: base; Step: base 0.98^floor(u / epoch) (StepLR, torchvision's gamma);
/// Cosine: base (1 + cos(pi u / (T - W))) / 2, which would reach zero in the step after the last (CosineAnnealingLR).
/// It is what SequentialLR makes of the two.
struct Schedule {
  static constexpr double kWarmupStart = 0.01;
  static constexpr double kDecay = 0.98;

  ScheduleKind kind = ScheduleKind::Constant;
  double base = 0;
  int64_t epoch_steps = 1;   // steps of an epoch, at least 1
  int64_t warmup_steps = 0;  // at most total_steps
  int64_t total_steps = 1;

  double rate(int64_t step) const;
  /// Whether all steps have the same rate.
  bool isConstant() const { return kind == ScheduleKind::Constant && warmup_steps == 0; }
};

/// Language models (docs/semantics.md §8): t < W: base t / W, so that the first step moves nothing; then
/// base max(0, (1 + cos(pi (t - W) / (T - W))) / 2).
struct WarmupCosine {
  double base = 0;
  int64_t warmup_steps = 0;
  int64_t total_steps = 1;

  double rate(int64_t step) const;
};

}  // namespace expc::optim
