#pragma once

// torch.amp.GradScaler (WORKLOADS §9): keeps fp16 gradients above zero by scaling the loss.

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

namespace expc::precision {

class GradScaler {
 public:
  /// Does nothing unless `enabled`. State lives on `device`.
  GradScaler(bool enabled, c10::Device device);

  /// The loss to call backward() on.
  at::Tensor scale(const at::Tensor& loss) const;
  /// Divides the gradients by the scale, calls `update` unless one of them is infinite or not a number, and adapts the
  /// scale: halved after such a step, doubled after 2,000 good ones in a row. With data parallelism the gradients are
  /// reduced already, so all ranks agree; where each has its part of them, `agree` makes the tensor that is above zero
  /// after an overflow the largest of all ranks. Waits for the device, as the decision is the host's.
  void step(const std::vector<at::Tensor>& parameters, const std::function<void()>& update,
            const std::function<void(at::Tensor&)>& agree = nullptr);

  double currentScale() const;
  int64_t skippedSteps() const { return skipped_; }

  /// What it has learnt so far; a scaler that is not enabled has learnt nothing.
  struct State {
    double scale = 1;
    int64_t good_steps = 0;  // since the scale changed
    int64_t skipped = 0;
  };
  State state() const;
  void restore(const State& state);

 private:
  bool enabled_;
  at::Tensor scale_, growth_tracker_;
  int64_t skipped_ = 0;
};

}  // namespace expc::precision
