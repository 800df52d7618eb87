#pragma once

// What layers hand to kernels/decoder_loops.h: contiguous tensors in fp32 and bf16 on the CPU. All else takes torch's
// operators, as do tests that compare the two.

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>

#include "runtime/worker/kernels/decoder_loops.h"

namespace expc::llama {

inline bool loopsServe(const at::Tensor& x) {
  return x.is_cpu() && x.is_contiguous() && (x.scalar_type() == at::kFloat || x.scalar_type() == at::kBFloat16);
}

/// work(loops for the type of x, a value of the type that they store).
template <typename Work>
void withLoops(const at::Tensor& x, Work work) {
  if (x.scalar_type() == at::kFloat)
    work(kernels::decoderLoops<float>(), float());
  else
    work(kernels::decoderLoops<kernels::Bf16>(), kernels::Bf16());
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

/// work(first, count) for parts of n rows of `width` values each, on as many threads as that is worth.
template <typename Work>
void overRows(int64_t n, int64_t width, Work work) {
  constexpr int64_t kValues = 1 << 14;  // worth a thread
  at::parallel_for(0, n, std::max<int64_t>(1, kValues / std::max<int64_t>(1, width)),
                   [&](int64_t begin, int64_t end) { work(begin, end - begin); });
}

}  // namespace expc::llama
