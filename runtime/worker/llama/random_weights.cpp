#include "runtime/worker/llama/random_weights.h"

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>

#include <algorithm>
#include <cmath>

#include "runtime/worker/llama/philox.h"

namespace expc::llama {
namespace {

constexpr int64_t kChunk = 4096;            // values of one stream of the generator
constexpr uint64_t kAdapters = 1ull << 32;  // streams of adapters, apart from those of weights

enum class Distribution { Normal, Uniform };

/// Box and Muller's way from two numbers, as at::Philox4_32::randn takes it.
float normal(uint32_t a, uint32_t b) {
  const auto unit = [](uint32_t number) { return 1 - static_cast<float>(number & 0x7FFFFFFF) * 4.6566127342e-10f; };
  return static_cast<float>(std::sqrt(-2.0 * std::log(unit(a))) * std::cos(2.0 * M_PI * unit(b)));
}

/// `count` values of one stream: a block of four numbers gives four values, or a single normal one.
template <typename T>
void fill(uint64_t key, uint64_t stream, Distribution distribution, double bound, int64_t count, T* values) {
  PhiloxNumbers numbers;
  const int64_t each = distribution == Distribution::Normal ? 1 : 4, drawn = each * kPhiloxBlocks;
  for (int64_t begin = 0; begin < count; begin += drawn) {
    drawPhilox(key, stream, static_cast<uint32_t>(begin / each), numbers);
    const int64_t here = std::min(drawn, count - begin);
    if (distribution == Distribution::Normal) {
      for (int64_t i = 0; i < here; ++i) values[begin + i] = static_cast<T>(normal(numbers[0][i], numbers[1][i]));
      continue;
    }
    for (int64_t i = 0; i < here; ++i) {
      const double value = bound * (static_cast<double>(numbers[i % 4][i / 4] >> 8) * 0x1p-23 - 1);
      values[begin + i] = static_cast<T>(static_cast<float>(value));
    }
  }
}

at::Tensor drawn(const std::vector<int64_t>& shape, uint64_t key, Distribution distribution, double bound,
                 at::ScalarType dtype) {
  at::Tensor result = at::empty(shape, at::TensorOptions().dtype(dtype));
  const int64_t count = result.numel(), chunks = (count + kChunk - 1) / kChunk;
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, dtype, "random weights", [&] {
    scalar_t* values = result.mutable_data_ptr<scalar_t>();
    at::parallel_for(0, chunks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t chunk = begin; chunk < end; ++chunk)
        fill(key, static_cast<uint64_t>(chunk), distribution, bound, std::min(kChunk, count - chunk * kChunk),
             values + chunk * kChunk);
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
