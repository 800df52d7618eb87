#include "runtime/simulate/resolution.h"

#include <doctest/doctest.h>

#include <cmath>

#include "runtime/stats/distributions.h"

namespace expc::simulate {

TEST_CASE("shares of 50 items have steps of 2 %, and are the numbers that were seen") {
  std::vector<double> seen;
  for (const int right : {41, 44, 45, 45, 46, 49}) seen.push_back(100.0 * right / 50 / 100);
  const Resolution accuracy(seen, true);
  CHECK(accuracy.step() == doctest::Approx(0.02));
  for (const double value : seen) CHECK(accuracy.rounded(value + 0.009) == value);
  CHECK(accuracy.rounded(0.928) != accuracy.rounded(0.949));
  CHECK(accuracy.rounded(1.2) == 1);
  CHECK(accuracy.rounded(-0.3) == 0);
}

TEST_CASE("printed times have the step of their digits, and continuous ones none") {
  CHECK(Resolution({12.3, 12.4, 12.9, 12.4, 13.1}, false).step() == doctest::Approx(0.1));
  CHECK(Resolution({1048576, 1052672, 1048576, 1064960}, false).step() == 4096);
  stats::NormalStream stream(1);
  std::vector<double> values;
  for (int i = 0; i < 40; ++i) values.push_back(std::exp(0.02 * stream.next()));
  const Resolution continuous(values, false);
  CHECK(continuous.step() == 0);
  CHECK(continuous.rounded(1.23456) == 1.23456);
  // Two numbers that never tie always have a common step, so it says nothing about the metric.
  CHECK(Resolution({1.25, 1.5}, false).step() == 0);
  CHECK(Resolution({1.25, 1.5, 1.75}, false).step() == 0);
  CHECK(Resolution({2, 2, 2}, false).step() == 0);
  CHECK(Resolution({}, true).rounded(3) == 3);
}

}  // namespace expc::simulate
