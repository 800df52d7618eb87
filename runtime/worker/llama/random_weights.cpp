#include "runtime/worker/llama/random_weights.h"

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/core/PhiloxRNGEngine.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>

#include <algorithm>
#include <cmath>

namespace expc::llama {
namespace {

constexpr int64_t kChunk = 4096;            // values of one stream of the generator
constexpr uint64_t kAdapters = 1ull << 32;  // streams of adapters, apart from those of weights

enum class Distribution { Normal, Uniform };

at::Tensor drawn(const std::vector<int64_t>& shape, uint64_t key, Distribution distribution, double bound,
                 at::ScalarType dtype) {
  at::Tensor result = at::empty(shape, at::TensorOptions().dtype(dtype));
  const int64_t count = result.numel(), chunks = (count + kChunk - 1) / kChunk;
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, dtype, "random weights", [&] {
    scalar_t* values = result.mutable_data_ptr<scalar_t>();
    at::parallel_for(0, chunks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t chunk = begin; chunk < end; ++chunk) {
        at::Philox4_32 stream(key, static_cast<uint64_t>(chunk), 0);
        const int64_t last = std::min(count, (chunk + 1) * kChunk);
        for (int64_t i = chunk * kChunk; i < last; ++i) {
          const double value = distribution == Distribution::Normal
                                   ? stream.randn(10)
                                   : bound * (static_cast<double>(stream() >> 8) * 0x1p-23 - 1);
          values[i] = static_cast<scalar_t>(static_cast<float>(value));
        }
      }
    });
  });
  return result;
}

}  // namespace

uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

at::Tensor randomWeight(const TensorSpec& spec, uint64_t seed, at::ScalarType dtype) {
  if (spec.role == Role::Norm) return at::ones(spec.shape, at::TensorOptions().dtype(dtype));
  const uint64_t key = mixed(mixed(seed) + spec.index);
  if (spec.role == Role::Embedding) return drawn(spec.shape, key, Distribution::Normal, 1, dtype);
  return drawn(spec.shape, key, Distribution::Uniform, 1 / std::sqrt(static_cast<double>(spec.shape[1])), dtype);
}

at::Tensor randomAdapter(int64_t rank, int64_t in, uint64_t index, uint64_t seed, at::ScalarType dtype) {
  return drawn({rank, in}, mixed(mixed(seed) + kAdapters + index), Distribution::Uniform,
               1 / std::sqrt(static_cast<double>(in)), dtype);
}

}  // namespace expc::llama
