#pragma once

// Numeric formats of training: fp64 and fp32 in that type throughout; tf32 as fp32 whose products a GPU's tensor cores
// round; bf16 and fp16 as autocast over fp32 weights.

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace expc::precision {

enum class Precision { Fp64, Fp32, Tf32, Bf16, Fp16 };

/// The type of weights, gradients and input.
c10::ScalarType weightType(Precision precision);
/// The type that autocast computes in; nothing where there is no autocast.
std::optional<c10::ScalarType> autocastType(Precision precision);
/// Gradients in fp16 underflow unless the loss is scaled.
inline bool scalesGradients(Precision precision) { return precision == Precision::Fp16; }

/// As torch.autocast(device, type) around a forward pass: operators pick the type, and weights cast once are kept until
/// the end.
class Autocast {
 public:
  Autocast(c10::DeviceType device, std::optional<c10::ScalarType> type);
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  c10::DeviceType device_;
  bool active_;
  bool enabled_before_ = false;
  c10::ScalarType type_before_ = c10::ScalarType::Float;
};

/// Whether GPUs may round the factors of fp32 products to tf32, from here on: torch allows it in convolutions unless
/// told otherwise, so that fp32 must be told too. Has no effect on the CPU.
void allowTensorFloat32(bool allowed);

/// torch.amp.GradScaler (docs/semantics.md §9): keeps fp16 gradients above zero by scaling the loss.
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
