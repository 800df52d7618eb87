#include "runtime/worker/precision/precision.h"

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>

namespace expc::precision {

c10::ScalarType weightType(Precision precision) { return precision == Precision::Fp64 ? at::kDouble : at::kFloat; }

std::optional<c10::ScalarType> autocastType(Precision precision) {
  if (precision == Precision::Bf16) return at::kBFloat16;
  if (precision == Precision::Fp16) return at::kHalf;
  return std::nullopt;
}

Autocast::Autocast(c10::DeviceType device, std::optional<c10::ScalarType> type)
    : device_(device), active_(type.has_value()) {
  if (!active_) return;
  enabled_before_ = at::autocast::is_autocast_enabled(device);
  type_before_ = at::autocast::get_autocast_dtype(device);
  at::autocast::set_autocast_enabled(device, true);
  at::autocast::set_autocast_dtype(device, *type);
  at::autocast::increment_nesting();
}

Autocast::~Autocast() {
  if (!active_) return;
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(device_, enabled_before_);
  at::autocast::set_autocast_dtype(device_, type_before_);
}

TensorFloat32::TensorFloat32(bool allowed)
    : convolutions_before_(at::globalContext().allowTF32CuDNN()),
      matrices_before_(at::globalContext().allowTF32CuBLAS()) {
  at::globalContext().setAllowTF32CuDNN(allowed);
  at::globalContext().setAllowTF32CuBLAS(allowed);
}

TensorFloat32::~TensorFloat32() {
  at::globalContext().setAllowTF32CuDNN(convolutions_before_);
  at::globalContext().setAllowTF32CuBLAS(matrices_before_);
}

}  // namespace expc::precision
