#include "runtime/worker/feed/on_device.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <vector>

#include "runtime/worker/data/preparation.h"

namespace expc::feed {
namespace {

c10::ScalarType arithmetic(c10::ScalarType result) { return result == at::kDouble ? at::kDouble : at::kFloat; }

}  // namespace

DevicePreparer::DevicePreparer(const Wanted& wanted) : wanted_(wanted) {
  // One multiplication and one addition a value.
  std::vector<double> factors, offsets;
  for (int64_t channel = 0; channel < data::kChannels; ++channel) {
    factors.push_back(1 / (255 * data::kStd[channel]));
    offsets.push_back(-data::kMean[channel] / data::kStd[channel]);
  }
  const auto constants = [&](const std::vector<double>& values) {
    return at::tensor(values, at::kDouble)
        .to(arithmetic(wanted.type))
        .view({1, data::kChannels, 1, 1})
        .to(wanted.device);
  };
  factor_ = constants(factors);
  offset_ = constants(offsets);
}

at::Tensor DevicePreparer::operator()(const at::Tensor& images) const {
  at::NoGradGuard no_grad;
  at::Tensor x = images.to(arithmetic(wanted_.type));
  if (x.size(2) != wanted_.size || x.size(3) != wanted_.size)
    x = at::_upsample_bilinear2d_aa(x, {wanted_.size, wanted_.size}, /*align_corners=*/false);
  x = at::addcmul(offset_, x, factor_);  // a grey image becomes three channels by broadcasting
  return x.to(wanted_.type, /*non_blocking=*/false, /*copy=*/false,
              wanted_.channels_last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous);
}

}  // namespace expc::feed
