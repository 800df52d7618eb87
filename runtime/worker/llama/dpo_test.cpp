#include "runtime/worker/llama/dpo.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <cmath>

namespace expc::llama {
namespace {

TEST_CASE("the reference is asked once for each row, and remembered where it was") {
  ReferenceLogProbs references(5);
  int asked = 0;
  const auto compute = [&] {
    ++asked;
    return at::tensor({-1.5f, -2.25f});
  };
  const at::Tensor expected = at::tensor({-1.5, -2.25}, at::kDouble);
  CHECK(at::equal(references.of({4, 1}, compute), expected));
  CHECK(at::equal(references.of({4, 1}, compute), expected));
  CHECK(asked == 1);
  CHECK(references.known() == 2);
  // Again, with the ids given as a tensor that is on the device already.
  CHECK(at::equal(references.of({1, 4}, compute, at::tensor({1, 4}, at::kLong)), expected.flip(0)));
  CHECK(asked == 1);
  references.of({4, 0}, compute);  // one of the two is new
  CHECK(asked == 2);
  CHECK(references.known() == 3);
}

TEST_CASE("references go on from what was kept") {
  ReferenceLogProbs references(3), later(3), other(4);
  references.of({2}, [] { return at::tensor({-0.125}, at::kDouble); });
  const at::Tensor kept = references.values();
  references.of({0}, [] { return at::tensor({-9.0}, at::kDouble); });
  CHECK(std::isnan(kept[0].item<double>()));  // a copy
  REQUIRE(later.restore(kept));
  CHECK(later.known() == 1);
  CHECK(at::equal(later.of({2}, [] { return at::Tensor(); }), at::tensor({-0.125}, at::kDouble)));
  CHECK_FALSE(other.restore(kept));
  CHECK(other.known() == 0);
}

}  // namespace
}  // namespace expc::llama
