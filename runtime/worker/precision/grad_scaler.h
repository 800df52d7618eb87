#pragma once

// torch.amp.GradScaler (docs/semantics.md §9): keeps fp16 gradients above zero by scaling the loss.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace expc::precision {

class GradScaler {
 public:
  /// Does nothing unless `enabled`. State lives on `device`.
  GradScaler(bool enabled, c10::Device device);

  /// The loss to call backward() on.
  at::Tensor scale(const at::Tensor& loss) const;
  /// Divides the gradients by the scale, calls `update` and adapts the scale: halved after an overflow, doubled after
  /// 2,000 good steps in a row. `update` gets a tensor without dimensions that is 1 where a gradient is infinite or not
  /// a number, else 0, and must change nothing where it is 1: nobody waits for the device, which alone knows. It is
  /// undefined where nothing is scaled. With data parallelism the gradients are reduced already, so all ranks agree;
  /// where each has its part of them, `agree` makes that tensor the largest of all ranks.
  void step(const std::vector<at::Tensor>& parameters, const std::function<void(const at::Tensor& overflow)>& update,
            const std::function<void(at::Tensor&)>& agree = nullptr);

  /// What it has learnt so far; a scaler that is not enabled has learnt nothing. Waits for the device.
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
  at::Tensor skipped_;  // fp64
};

}  // namespace expc::precision
