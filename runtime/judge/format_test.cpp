#include "runtime/judge/format.h"

#include <doctest/doctest.h>

#include "runtime/base/numbers.h"
#include "tests/support/judge/study.h"

namespace expc::judge {

TEST_CASE("dimensions of cells") {
  const plan::Plan plan = test::study();
  CHECK(dimensionOf(plan, test::metricCells(plan, "accuracy")[0]) == "share");
  CHECK(dimensionOf(plan, test::gainCells()[0]) == "");
  plan::Cell apart = test::metricCells(plan, "accuracy")[0];
  apart.term = std::make_shared<plan::Term>(
      plan::Term{plan::OperationTerm{plan::OperationTerm::Op::Difference, {apart.term, apart.term}}});
  CHECK(base::formatQuantity(-0.25, "", dimensionOf(plan, apart)) == "-25.0 points");
}

}  // namespace expc::judge
