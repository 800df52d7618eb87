#pragma once

// What layers hand to kernels/decoder_loops.h: contiguous tensors in fp32 and bf16, on a device that has loops in fp16
// as well. All else takes torch's operators, as do tests that compare the two.

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>

#include "runtime/worker/kernels/decoder_loops.h"

namespace expc::llama {

inline bool loopsServe(const at::Tensor& x) {
  const bool on_device = x.is_cuda() && kernels::deviceLoops() != nullptr;
  const bool wide_or_bf16 = x.scalar_type() == at::kFloat || x.scalar_type() == at::kBFloat16;
  return x.is_contiguous() &&
         ((wide_or_bf16 && x.is_cpu()) || (on_device && (wide_or_bf16 || x.scalar_type() == at::kHalf)));
}
/// Where torch has the same fused for devices.
inline bool hostLoopsServe(const at::Tensor& x) { return x.is_cpu() && loopsServe(x); }

/// work(loops for the type and the device of x, a value of the type that they store).
template <typename Work>
void withLoops(const at::Tensor& x, Work work) {
  const auto of = [&](auto stored) {
    using S = decltype(stored);
    work(x.is_cpu() ? kernels::loopsOf<kernels::DecoderLoops<S>>() : kernels::deviceLoops()->of<S>(), stored);
  };
  if (x.scalar_type() == at::kFloat)
    of(float());
  else if (x.scalar_type() == at::kBFloat16)
    of(kernels::Bf16());
  else
    work(kernels::deviceLoops()->fp16, kernels::Half());
}

/// The values of a tensor that may be undefined.
template <typename S>
const S* in(const at::Tensor& x) {
  return x.defined() ? static_cast<const S*>(x.const_data_ptr()) : nullptr;
}
template <typename S>
S* out(const at::Tensor& x) {
  return x.defined() ? static_cast<S*>(x.mutable_data_ptr()) : nullptr;
}

/// work(first, count) for parts of n rows of `width` values each, on as many threads as that is worth; on a device at
/// once. `x` says where.
template <typename Work>
void overRows(const at::Tensor& x, int64_t n, int64_t width, Work work) {
  constexpr int64_t kValues = 1 << 14;  // worth a thread
  if (!x.is_cpu()) return work(0, n);
  at::parallel_for(0, n, std::max<int64_t>(1, kValues / std::max<int64_t>(1, width)),
                   [&](int64_t begin, int64_t end) { work(begin, end - begin); });
}

}  // namespace expc::llama
