#pragma once

// Between layers and kernels/decoder_loops.h: which tensors the loops accept (contiguous fp32 and bf16 on the CPU,
// fp16 too on a device that has loops), and how to call them on typed memory and in threads. Other tensors take
// torch's operators. Tests use those to compare: both ways must give the same up to rounding.

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>

#include "runtime/worker/kernels/decoder_loops.h"

namespace expc::llama {

/// Whether the loops of x's device accept x.
inline bool loopsServe(const at::Tensor& x) {
  const bool on_device = x.is_cuda() && kernels::deviceLoops() != nullptr;
  const bool wide_or_bf16 = x.scalar_type() == at::kFloat || x.scalar_type() == at::kBFloat16;
  return x.is_contiguous() &&
         ((wide_or_bf16 && x.is_cpu()) || (on_device && (wide_or_bf16 || x.scalar_type() == at::kHalf)));
}
/// Like loopsServe(), for loops that exist on the CPU only because torch has a fused operator for devices.
inline bool hostLoopsServe(const at::Tensor& x) { return x.is_cpu() && loopsServe(x); }

/// A tensor's memory from an element on, for reading (in) and writing (out); null for an undefined tensor.
template <typename S>
const S* in(const at::Tensor& x, int64_t from = 0) {
  return x.defined() ? static_cast<const S*>(x.const_data_ptr()) + from : nullptr;
}
template <typename S>
S* out(const at::Tensor& x, int64_t from = 0) {
  return x.defined() ? static_cast<S*>(x.mutable_data_ptr()) + from : nullptr;
}

template <typename S>
using Loops = kernels::DecoderLoops<S>;

/// Calls work(loops, first, count) for parts of n rows of `width` values each, with the loops for x's type and device:
/// in parallel on as many threads as that is worth, or once for all rows if x is on a device, where a call is a launch.
/// x must satisfy loopsServe.
template <typename Work>
void overRows(const at::Tensor& x, int64_t n, int64_t width, Work work) {
  constexpr int64_t kValues = 1 << 14;  // values that are worth a thread
  if (x.is_cpu()) {
    const auto split = [&](const auto& loops) {
      at::parallel_for(0, n, std::max<int64_t>(1, kValues / std::max<int64_t>(1, width)),
                       [&](int64_t begin, int64_t end) { work(loops, begin, end - begin); });
    };
    return x.scalar_type() == at::kFloat ? split(kernels::loopsOf<Loops<float>>())
                                         : split(kernels::loopsOf<Loops<kernels::Bf16>>());
  }
  const kernels::DeviceLoops& device = *kernels::deviceLoops();
  if (x.scalar_type() == at::kFloat)
    work(device.fp32, int64_t{0}, n);
  else if (x.scalar_type() == at::kBFloat16)
    work(device.bf16, int64_t{0}, n);
  else
    work(device.fp16, int64_t{0}, n);
}

}  // namespace expc::llama
