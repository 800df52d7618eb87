#include <ATen/core/PhiloxRNGEngine.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "runtime/worker/llama/random_weights.h"

using namespace expc::llama;

TEST_CASE("numbers are those of torch's generator") {
  for (const uint64_t key : {uint64_t{0}, uint64_t{7}, uint64_t{0xfedcba9876543210}}) {
    for (const uint64_t stream : {uint64_t{0}, uint64_t{3}, uint64_t{0x123456789a}}) {
      for (const uint32_t first : {0u, 768u, 4'000'000'000u}) {
        PhiloxNumbers numbers;
        drawPhilox(key, stream, first, numbers);
        at::Philox4_32 torch(key, stream, first);
        bool equal = true;
        for (uint32_t block = 0; block < kPhiloxBlocks; ++block)
          for (const auto& nth : numbers) equal = equal && nth[block] == torch();
        CAPTURE(key);
        CAPTURE(stream);
        CAPTURE(first);
        CHECK(equal);
      }
    }
  }
}

TEST_CASE("random weights are what torch's generator gives, one value after the other") {
  const auto specs = weightSpecs(namedConfig("tiny").value());
  for (const size_t at : {size_t{0}, size_t{2}}) {  // normal, uniform
    const TensorSpec& spec = specs[at];
    const at::Tensor drawn = randomWeight(spec, 3, at::kFloat);
    const float* values = drawn.const_data_ptr<float>();
    const double bound = 1 / std::sqrt(double(spec.shape[1]));
    int64_t other = 0;
    for (int64_t i = 0; i < drawn.numel();) {
      at::Philox4_32 stream(mixed(mixed(3) + spec.index), uint64_t(i / 4096), 0);
      for (const int64_t end = std::min(drawn.numel(), i + 4096); i < end; ++i) {
        const double value = at == 0 ? stream.randn(10) : bound * (double(stream() >> 8) * 0x1p-23 - 1);
        other += values[i] != float(value);
      }
    }
    CHECK(other == 0);
  }
}
