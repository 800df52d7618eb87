#include "runtime/worker/llama/weight_source.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace expc::llama {

void fillFrom(const WeightSource& source, const TensorSpec& spec, int64_t first, const at::Tensor& to) {
  for (int64_t at = 0; at < to.numel(); at += kSourcePiece) {
    const int64_t count = std::min(kSourcePiece, to.numel() - at);
    const at::Tensor values = source(spec, first + at, count);
    if (values.is_meta()) return;
    to.narrow(0, at, count).copy_(values.to(to.scalar_type()));
  }
}

at::Tensor loadedWeight(const WeightSource& source, const TensorSpec& spec, at::ScalarType dtype, at::Device device) {
  if (device.is_cpu()) {
    const at::Tensor values = source(spec, 0, spec.elements());
    if (!values.is_meta()) return values.to(dtype).view(spec.shape);
  }
  const at::Tensor result = at::empty(spec.shape, at::TensorOptions().dtype(dtype).device(device));
  fillFrom(source, spec, 0, result.view(-1));
  return result;
}

}  // namespace expc::llama
