#include "runtime/stats/spreads.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

namespace expc::stats {

TEST_CASE("values scatter inside sessions and between them") {
  const std::vector<double> values{9, 11, 19, 21, 29, 31};
  const std::vector<int64_t> sessions{1, 1, 2, 2, 7, 7};
  const auto found = spreads(values, sessions);
  REQUIRE(found);
  CHECK(found->within == doctest::Approx(std::sqrt(2.0)));
  CHECK(found->between == doctest::Approx(10));
  CHECK(found->sessions == 3);
}

TEST_CASE("one session, single values and infinite ones have no two spreads") {
  CHECK_FALSE(spreads(std::vector<double>{1, 2, 3}, std::vector<int64_t>{4, 4, 4}));
  CHECK_FALSE(spreads(std::vector<double>{1, 2, 3}, std::vector<int64_t>{1, 2, 3}));
  CHECK_FALSE(spreads(std::vector<double>{1, 2, INFINITY}, std::vector<int64_t>{1, 1, 2}));
  CHECK_FALSE(spreads(std::vector<double>{}, std::vector<int64_t>{}));
}

}  // namespace expc::stats
