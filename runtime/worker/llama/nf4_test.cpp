#include "runtime/worker/llama/nf4.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <vector>

#include "runtime/worker/kernels/cuda/items.h"

namespace expc::llama {
namespace {

at::Tensor someWeight(at::ScalarType type) {
  at::manual_seed(7);
  return at::randn({2 * Nf4::kGroup, Nf4::kBlock}, at::kDouble).mul_(0.02).to(type);
}

/// The values of both codes of each byte [256, 2], before they are scaled.
at::Tensor codePairs(at::ScalarType type) {
  std::vector<double> values;
  for (unsigned byte = 0; byte < 256; ++byte)
    for (const unsigned code : {byte / 16, byte % 16}) values.push_back(kernels::nf4Code<double>(code));
  return at::tensor(values, at::kDouble).view({256, 2}).to(type);
}

/// The reference: torch's operators over tensors of the type that the weight was quantised in.
at::Tensor byOperators(const Nf4& weight, at::ScalarType as) {
  const at::Tensor centred = weight.scales.to(weight.type()).view({-1, Nf4::kGroup}) / weight.factors.unsqueeze(1);
  const at::Tensor scales = centred.flatten() + weight.mean;
  const at::Tensor values = codePairs(weight.type()).index_select(0, weight.packed.to(at::kInt));
  return (values.view({-1, Nf4::kBlock}) * scales.unsqueeze(1)).view({weight.rows, weight.columns}).to(as);
}

template <typename S, typename As>
at::Tensor byThreads(const Nf4& weight, at::ScalarType as) {
  typename kernels::Number<S>::Wide codes[16];
  for (unsigned code = 0; code < 16; ++code) codes[code] = kernels::nf4Code<S>(code);
  const at::Tensor result = at::empty({weight.rows, weight.columns}, at::TensorOptions(as));
  for (int64_t item = 0; item < result.numel() / kernels::cuda::kNf4Item; ++item)
    kernels::cuda::expandNf4<S, As>(weight.packed.const_data_ptr<uint8_t>(), weight.scales.const_data_ptr<int8_t>(),
                                    static_cast<const S*>(weight.factors.const_data_ptr()),
                                    static_cast<const S*>(weight.mean.const_data_ptr()), codes, item,
                                    static_cast<As*>(result.mutable_data_ptr()));
  return result;
}

TEST_CASE("the loop gives the bits of single operators") {
  for (const auto stored : {at::kDouble, at::kFloat, at::kBFloat16, at::kHalf}) {
    const Nf4 weight = quantizeNf4(someWeight(stored));
    for (const auto as : {at::kDouble, at::kFloat, at::kBFloat16, at::kHalf}) {
      CAPTURE(stored);
      CAPTURE(as);
      CHECK(at::equal(dequantize(weight, as), byOperators(weight, as)));
    }
  }
}

TEST_CASE("the threads of a card's kernel give the bits of the loop") {
  using kernels::Bf16;
  const Nf4 doubled = quantizeNf4(someWeight(at::kDouble)), wide = quantizeNf4(someWeight(at::kFloat)),
            narrow = quantizeNf4(someWeight(at::kBFloat16));
  CHECK(at::equal(byThreads<double, float>(doubled, at::kFloat), dequantize(doubled, at::kFloat)));
  CHECK(at::equal(byThreads<float, float>(wide, at::kFloat), dequantize(wide, at::kFloat)));
  CHECK(at::equal(byThreads<float, Bf16>(wide, at::kBFloat16), dequantize(wide, at::kBFloat16)));
  CHECK(at::equal(byThreads<Bf16, Bf16>(narrow, at::kBFloat16), dequantize(narrow, at::kBFloat16)));
  CHECK(at::equal(byThreads<Bf16, double>(narrow, at::kDouble), dequantize(narrow, at::kDouble)));
}

TEST_CASE("both codes of a byte, the one in the high half first") {
  const at::Tensor pairs = codePairs(at::kDouble);
  CHECK(pairs[0x0F][0].item<double>() == -1);
  CHECK(pairs[0x0F][1].item<double>() == 1);
  CHECK(pairs[0xF7][0].item<double>() == 1);
  CHECK(pairs[0xF7][1].item<double>() == 0);
}

}  // namespace
}  // namespace expc::llama
