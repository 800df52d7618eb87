#include "runtime/worker/llama/nf4.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

namespace expc::llama {
namespace {

at::Tensor someWeight(at::ScalarType type) {
  at::manual_seed(7);
  return at::randn({2 * Nf4::kGroup, Nf4::kBlock}, at::kDouble).mul_(0.02).to(type);
}

TEST_CASE("devices without the CPU's loop give the same bits") {
  for (const auto stored : {at::kDouble, at::kFloat, at::kBFloat16, at::kHalf}) {
    const Nf4 weight = quantizeNf4(someWeight(stored));
    const Nf4 elsewhere = weight.to(codePairs(stored, at::kCPU));
    CHECK_FALSE(weight.pairs.defined());
    CHECK(elsewhere.bytes() == weight.bytes());
    for (const auto as : {at::kDouble, at::kFloat, at::kBFloat16, at::kHalf}) {
      CAPTURE(stored);
      CAPTURE(as);
      CHECK(at::equal(dequantize(weight, as), dequantize(elsewhere, as)));
    }
  }
}

TEST_CASE("both codes of a byte, the one in the high half first") {
  const at::Tensor pairs = codePairs(at::kDouble, at::kCPU);
  CHECK(pairs[0x0F][0].item<double>() == -1);
  CHECK(pairs[0x0F][1].item<double>() == 1);
  CHECK(pairs[0xF7][0].item<double>() == 1);
  CHECK(pairs[0xF7][1].item<double>() == 0);
}

}  // namespace
}  // namespace expc::llama
