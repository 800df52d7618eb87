#include "runtime/worker/llama/attention.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <utility>

namespace expc::llama {
namespace {

constexpr int64_t kHeads = 4, kKvHeads = 2, kWidth = 8;

struct Inputs {
  at::Tensor query, key, value;

  Inputs(int64_t tokens, at::ScalarType type) {
    at::manual_seed(3);
    const auto drawn = [&](int64_t heads) {
      return at::randn({tokens, heads, kWidth}, at::kDouble).to(type).requires_grad_(true);
    };
    query = drawn(kHeads), key = drawn(kKvHeads), value = drawn(kKvHeads);
  }
  std::vector<at::Tensor> all() const { return {query, key, value}; }
};

Attention attentionFor(at::ScalarType type) { return Attention(at::kCPU, type, kHeads, kKvHeads, kWidth); }

/// The reference: plain operators, and a mask of all tokens by all tokens.
at::Tensor masked(const Inputs& in, const std::vector<int64_t>& lengths) {
  const int64_t tokens = in.query.size(0);
  at::Tensor seen = at::zeros({tokens, tokens}, at::kBool);
  int64_t first = 0;
  for (const int64_t count : lengths) {
    seen.narrow(0, first, count).narrow(1, first, count).fill_(true);
    first += count;
  }
  seen = seen.tril();
  const auto heads = [&](const at::Tensor& x) {
    return x.repeat_interleave(kHeads / x.size(1), 1).transpose(0, 1).to(at::kDouble);
  };
  const at::Tensor scores = at::matmul(heads(in.query), heads(in.key).transpose(1, 2)) / std::sqrt(double{kWidth});
  return at::matmul(scores.masked_fill(seen.logical_not(), -INFINITY).softmax(-1), heads(in.value)).transpose(0, 1);
}

double difference(const at::Tensor& a, const at::Tensor& b) {
  return (a.detach().to(at::kDouble) - b.detach().to(at::kDouble)).abs().max().item<double>();
}

TEST_CASE("samples behind each other see themselves alone, forth and back") {
  const std::vector<int64_t> lengths = {5, 1, 9, 3, 2};
  for (const auto& [type, near] : {std::pair(at::kDouble, 1e-12), {at::kFloat, 1e-5}, {at::kBFloat16, 0.05}}) {
    CAPTURE(type);
    const Inputs in(20, type);
    const Documents documents{lengths, {}};
    const at::Tensor own = attentionFor(type).ofDocuments(in.query, in.key, in.value, documents);
    const at::Tensor plain = masked(in, lengths);
    CHECK((own.scalar_type() == type));
    CHECK(difference(own, plain) < near);
    const at::Tensor weights = at::randn_like(own);
    const auto found = torch::autograd::grad({(own * weights).sum()}, in.all());
    const auto expected = torch::autograd::grad({(plain * weights).sum()}, in.all());
    for (size_t i = 0; i < 3; ++i) CHECK(difference(found[i], expected[i]) < 3 * near);
  }
}

TEST_CASE("one sample a row is a row") {
  const Inputs in(24, at::kFloat);
  const auto rows = [](const at::Tensor& x) { return x.view({2, 12, x.size(1), kWidth}); };
  const Attention attention = attentionFor(at::kFloat);
  const at::Tensor dense = attention.ofRows(rows(in.query), rows(in.key), rows(in.value));
  CHECK(difference(attention.ofDocuments(in.query, in.key, in.value, {{12, 12}, {}}), dense.flatten(0, 1)) < 1e-6);
}

TEST_CASE("bounds are where samples begin, and the end") {
  CHECK(at::equal(Documents::boundsOf({5, 1, 9}), at::tensor({0, 5, 6, 15}, at::kInt)));
  CHECK_FALSE(Documents().defined());
}

}  // namespace
}  // namespace expc::llama
