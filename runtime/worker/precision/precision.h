#pragma once

// Numeric formats of training: fp64 and fp32 in that type throughout; tf32 as fp32 whose products a GPU's tensor cores
// round; bf16 and fp16 as autocast over fp32 weights.

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <optional>

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

/// Whether GPUs may round the factors of fp32 products to tf32, while it lives: torch allows it in convolutions unless
/// told otherwise, so that fp32 must be told too. Has no effect on the CPU.
class TensorFloat32 {
 public:
  explicit TensorFloat32(bool allowed);
  ~TensorFloat32();
  TensorFloat32(const TensorFloat32&) = delete;
  TensorFloat32& operator=(const TensorFloat32&) = delete;

 private:
  bool convolutions_before_, matrices_before_;
};

}  // namespace expc::precision
