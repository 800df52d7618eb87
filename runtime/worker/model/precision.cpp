#include "runtime/worker/model/precision.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>

#include <cstdint>

namespace expc::precision {
namespace {

constexpr double kInitialScale = 65536, kGrowth = 2, kBackoff = 0.5;
constexpr int64_t kInterval = 2000;

}  // namespace

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

void allowTensorFloat32(bool allowed) {
  at::globalContext().setAllowTF32CuDNN(allowed);
  at::globalContext().setAllowTF32CuBLAS(allowed);
}

GradScaler::GradScaler(bool enabled, c10::Device device) : enabled_(enabled) {
  if (!enabled_) return;
  scale_ = at::full({}, kInitialScale, at::TensorOptions(at::kFloat).device(device));
  growth_tracker_ = at::full({}, 0, at::TensorOptions(at::kInt).device(device));
  skipped_ = at::full({}, 0, at::TensorOptions(at::kDouble).device(device));
}

at::Tensor GradScaler::scale(const at::Tensor& loss) const { return enabled_ ? loss * scale_ : loss; }

void GradScaler::step(const std::vector<at::Tensor>& parameters,
                      const std::function<void(const at::Tensor& overflow)>& update,
                      const std::function<void(at::Tensor&)>& agree) {
  if (!enabled_) return update({});
  at::NoGradGuard no_grad;
  std::vector<at::Tensor> gradients;
  for (const auto& parameter : parameters) {
    if (parameter.grad().defined()) gradients.push_back(parameter.grad());
  }
  // The reciprocal is taken in double and rounded once, as torch does.
  const auto inverse = scale_.to(at::kDouble).reciprocal().to(at::kFloat);
  auto found = at::zeros({}, scale_.options());
  at::_amp_foreach_non_finite_check_and_unscale_(gradients, found, inverse);
  if (agree) agree(found);
  update(found);
  skipped_.add_(found);
  at::_amp_update_scale_(scale_, growth_tracker_, found, kGrowth, kBackoff, kInterval);
}

GradScaler::State GradScaler::state() const {
  if (!enabled_) return {};
  return {scale_.item<double>(), growth_tracker_.item<int64_t>(), skipped_.to(at::kLong).item<int64_t>()};
}

void GradScaler::restore(const State& state) {
  if (!enabled_) return;
  scale_.fill_(state.scale);
  growth_tracker_.fill_(state.good_steps);
  skipped_.fill_(state.skipped);
}

}  // namespace expc::precision
