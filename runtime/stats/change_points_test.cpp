#include "runtime/stats/change_points.h"

#include <doctest/doctest.h>

#include <cmath>
#include <utility>

#include "runtime/stats/distributions.h"

namespace expc::stats {
namespace {

std::vector<double> steps(std::initializer_list<std::pair<size_t, double>> levels, uint64_t seed) {
  NormalStream noise(seed);
  std::vector<double> values;
  for (const auto& [count, level] : levels)
    for (size_t i = 0; i < count; ++i) values.push_back(level + noise.next());
  return values;
}

TEST_CASE("changes of level are found where they are") {
  const auto found = changePoints(steps({{12, 0}, {10, 6}, {9, -2}}, 3), 0.05);
  REQUIRE(found.size() == 2);
  CHECK(found[0].at == 12);
  CHECK(found[1].at == 22);
}

TEST_CASE("eight values are the fewest that can change at 95 %") {
  CHECK(changePoints(std::vector<double>{1, 2, 3, 11, 12, 13, 14}, 0.05).empty());
  const auto found = changePoints(std::vector<double>{1, 2, 3, 4, 11, 12, 13, 14}, 0.05);
  REQUIRE(found.size() == 1);
  CHECK(found[0].at == 4);
  CHECK(found[0].p == doctest::Approx(2.0 / 70).epsilon(0.25));
}

TEST_CASE("one odd value is no change, nor are equal values, and a NaN has no order") {
  std::vector<double> values = steps({{20, 0}}, 5);
  values[10] = 100;
  CHECK(changePoints(values, 0.01).empty());
  CHECK(changePoints(std::vector<double>(20, 3.0), 0.05).empty());
  CHECK_FALSE(likeliestChange(std::vector<double>{1, 2, 3, std::nan(""), 5, 6, 7, 8}));
}

TEST_CASE("a sequence that never changes is said to in one of twenty") {
  unsigned said = 0;
  for (uint64_t study = 0; study < 200; ++study) said += !changePoints(steps({{16, 0}}, 100 + study), 0.05).empty();
  CHECK(said <= 20);
}

}  // namespace
}  // namespace expc::stats
