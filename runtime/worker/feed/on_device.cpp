#include "runtime/worker/feed/on_device.h"

#include <ATen/ATen.h>

#include "runtime/worker/data/preparation.h"

namespace expc::feed {

at::Tensor prepareOnDevice(const at::Tensor& images, const OnDevice& wanted) {
  at::NoGradGuard no_grad;
  const auto arithmetic = wanted.type == at::kDouble ? at::kDouble : at::kFloat;
  at::Tensor x = images.to(arithmetic);
  if (x.size(2) != wanted.size || x.size(3) != wanted.size)
    x = at::_upsample_bilinear2d_aa(x, {wanted.size, wanted.size}, /*align_corners=*/false);
  // One multiplication and one addition; a grey image becomes three channels by broadcasting.
  auto factor = at::empty({1, data::kChannels, 1, 1}, at::TensorOptions(arithmetic));
  auto offset = at::empty_like(factor);
  for (int64_t c = 0; c < data::kChannels; ++c) {
    factor[0][c][0][0] = 1 / (255 * data::kStd[c]);
    offset[0][c][0][0] = -data::kMean[c] / data::kStd[c];
  }
  x = at::addcmul(offset.to(x.device()), x, factor.to(x.device()));
  return x.to(wanted.type, /*non_blocking=*/false, /*copy=*/false,
              wanted.channels_last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous);
}

}  // namespace expc::feed
