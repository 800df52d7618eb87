// Draws initial weights. A tensor is cut into chunks of kChunk values, and each chunk is a stream of its own in
// Philox' counter: so threads, ranks and sizes of requests do not matter. The tensor's key comes from the seed and
// its index.

#include "runtime/worker/llama/random_weights.h"

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>

#include <algorithm>
#include <cmath>

#include "runtime/base/split_mix.h"
#include "runtime/data/images/clones.h"

namespace expc::llama {
namespace {

constexpr int64_t kChunk = 4096;            // values that come from one stream
constexpr uint64_t kAdapters = 1ull << 32;  // key offset of adapters, apart from those of weights

enum class Distribution { Normal, Uniform };

/// A normal value from two random numbers by Box and Muller, in the arithmetic of at::Philox4_32::randn.
float normal(uint32_t a, uint32_t b) {
  const auto unit = [](uint32_t number) { return 1 - float(number & 0x7FFFFFFF) * 4.6566127342e-10f; };
  return float(std::sqrt(-2.0 * std::log(unit(a))) * std::cos(2.0 * M_PI * unit(b)));
}

/// The distribution and the key that a tensor's values are drawn with.
struct Draw {
  uint64_t key = 0;
  Distribution distribution = Distribution::Uniform;
  double bound = 1;
};

/// Writes values [begin, end) of one stream. A block of four numbers gives four uniform values, or one normal value,
/// which uses two of them.
template <typename T>
void fill(const Draw& draw, uint64_t stream, int64_t begin, int64_t end, T* values) {
  PhiloxNumbers numbers;
  const int64_t each = draw.distribution == Distribution::Normal ? 1 : 4, drawn = each * kPhiloxBlocks;
  // A vector of blocks is always drawn as a whole, from a multiple of its size; values outside the range are dropped.
  for (int64_t from = begin / drawn * drawn; from < end; from += drawn) {
    drawPhilox(draw.key, stream, uint32_t(from / each), numbers);
    const int64_t first = std::max(begin, from) - from, last = std::min(end, from + drawn) - from;
    T* to = values + (from - begin);
    if (draw.distribution == Distribution::Normal) {
      for (int64_t i = first; i < last; ++i) to[i] = T(normal(numbers[0][i], numbers[1][i]));
      continue;
    }
    for (int64_t i = first; i < last; ++i) {
      // The upper 24 bits as a multiple of 2^-23, less 1: uniform in [-1, 1) and exact in fp32.
      const double value = draw.bound * (double(numbers[i % 4][i / 4] >> 8) * 0x1p-23 - 1);
      to[i] = T(float(value));
    }
  }
}

/// Values [first, first + count) of a tensor, chunks in parallel.
at::Tensor drawn(const Draw& draw, int64_t first, int64_t count, at::ScalarType dtype) {
  at::Tensor result = at::empty({count}, at::TensorOptions().dtype(dtype));
  const int64_t end = first + count;
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, dtype, "random weights", [&] {
    scalar_t* values = result.mutable_data_ptr<scalar_t>();
    at::parallel_for(first / kChunk, (end + kChunk - 1) / kChunk, 1, [&](int64_t from, int64_t to) {
      for (int64_t chunk = from; chunk < to; ++chunk) {
        const int64_t start = chunk * kChunk, low = std::max(first, start), high = std::min(end, start + kChunk);
        fill(draw, uint64_t(chunk), low - start, high - start, values + (low - first));
      }
    });
  });
  return result;
}

Draw drawOf(const TensorSpec& spec, uint64_t seed) {
  const uint64_t key = mixed(mixed(seed) + spec.index);
  if (spec.role == Role::Embedding) return {key, Distribution::Normal, 1};
  return {key, Distribution::Uniform, 1 / std::sqrt(double(spec.shape[1]))};
}

}  // namespace

uint64_t mixed(uint64_t x) { return base::splitMix(x); }

// Integers only: there is nothing that one instruction set could round differently from another.
EXPC_CLONES void drawPhilox(uint64_t key, uint64_t stream, uint32_t first, PhiloxNumbers& numbers) {
  uint32_t* const out[] = {numbers[0].data(), numbers[1].data(), numbers[2].data(), numbers[3].data()};
  for (uint32_t block = 0; block < kPhiloxBlocks; ++block) {
    uint32_t a = first + block, b = 0, c = uint32_t(stream), d = uint32_t(stream >> 32);
    uint32_t low = uint32_t(key), high = uint32_t(key >> 32);
#pragma GCC unroll 10
    for (int round = 0; round < 10; ++round) {
      const uint64_t from_a = uint64_t{0xD2511F53} * a, from_c = uint64_t{0xCD9E8D57} * c;
      a = uint32_t(from_c >> 32) ^ b ^ low;
      b = uint32_t(from_c);
      c = uint32_t(from_a >> 32) ^ d ^ high;
      d = uint32_t(from_a);
      low += 0x9E3779B9;
      high += 0xBB67AE85;
    }
    out[0][block] = a, out[1][block] = b, out[2][block] = c, out[3][block] = d;
  }
}

at::Tensor randomWeight(const TensorSpec& spec, uint64_t seed, at::ScalarType dtype) {
  return randomWeights(seed, dtype)(spec, 0, spec.elements()).view(spec.shape);
}

WeightSource randomWeights(uint64_t seed, at::ScalarType dtype) {
  return [seed, dtype](const TensorSpec& spec, int64_t first, int64_t count) {
    if (spec.role == Role::Norm) return at::ones({count}, at::TensorOptions().dtype(dtype));
    return drawn(drawOf(spec, seed), first, count, dtype);
  };
}

at::Tensor randomAdapter(int64_t rank, int64_t in, uint64_t index, uint64_t seed, at::ScalarType dtype) {
  const Draw draw{mixed(mixed(seed) + kAdapters + index), Distribution::Uniform, 1 / std::sqrt(double(in))};
  return drawn(draw, 0, rank * in, dtype).view({rank, in});
}

}  // namespace expc::llama
