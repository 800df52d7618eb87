#include "runtime/stats/change_points.h"

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <utility>

namespace expc::stats {
namespace {

/// Sequences whose noise comes from the standard library, not from the stream that p-values are simulated with.
class Draws {
 public:
  explicit Draws(unsigned seed) : generator_(seed) {}
  double next() { return normal_(generator_); }
  /// First-order autoregressive noise with a standard deviation of 1; a correlation of 1 gives a random walk with
  /// steps of 1.
  std::vector<double> correlated(size_t n, double correlation) {
    std::vector<double> values{next()};
    const double fresh = correlation < 1 ? std::sqrt(1 - correlation * correlation) : 1;
    while (values.size() < n) values.push_back(correlation * values.back() + fresh * next());
    return values;
  }
  std::vector<double> steps(std::initializer_list<std::pair<size_t, double>> levels) {
    std::vector<double> values;
    for (const auto& [count, level] : levels)
      for (size_t i = 0; i < count; ++i) values.push_back(level + next());
    return values;
  }
  std::vector<double> drift(size_t n, double each) {
    std::vector<double> values;
    for (size_t i = 0; i < n; ++i) values.push_back(each * double(i) + next());
    return values;
  }

 private:
  std::mt19937 generator_;
  std::normal_distribution<double> normal_;
};

/// The share of 400 sequences for which a condition holds.
template <class Draw, class Holds>
double share(Draw draw, Holds holds) {
  Draws noise(7);
  unsigned count = 0;
  for (unsigned study = 0; study < 400; ++study) count += holds(draw(noise));
  return count / 400.0;
}

bool steps(const std::vector<double>& values) { return !changePoints(values, 0.05).empty(); }

bool drifts(const std::vector<double>& values) {
  const auto found = tendencyOf(values);
  return !steps(values) && (found->drift_p <= 0.05 || found->step.p <= 0.05);
}

TEST_CASE("changes of level are found where they are") {
  const auto found = changePoints(Draws(3).steps({{12, 0}, {10, 6}, {9, -2}}), 0.05);
  REQUIRE(found.size() == 2);
  CHECK(found[0].at == 12);
  CHECK(found[1].at == 22);
}

TEST_CASE("eight values are the fewest that can change at 95 %") {
  CHECK(changePoints(std::vector<double>{1, 2, 3, 111, 112, 113, 114}, 0.05).empty());
  const auto found = changePoints(std::vector<double>{2, 1, 3, 2.5, 111.2, 113.1, 112, 114.3}, 0.05);
  REQUIRE(found.size() == 1);
  CHECK(found[0].at == 4);
}

TEST_CASE("one odd value is no change, nor are equal values, and a NaN has no order") {
  std::vector<double> values = Draws(5).steps({{20, 0}});
  values[10] = 100;
  CHECK(changePoints(values, 0.01).empty());
  values[10] = 0;
  values[19] = 100;
  CHECK(changePoints(values, 0.01).empty());
  CHECK(changePoints(std::vector<double>(20, 3.0), 0.05).empty());
  CHECK_FALSE(tendencyOf(std::vector<double>{1, 2, 3, std::nan(""), 5, 6, 7, 8}));
}

// Chance exceeds 5 % of 400 by 2.2 points (two standard errors) in one of forty simulations.
TEST_CASE("sequences without a step have one in 5 %, however values are correlated") {
  for (const size_t n : {12u, 20u})
    for (const double correlation : {0.0, 0.4, 0.7, 1.0}) {
      CAPTURE(n);
      CAPTURE(correlation);
      CHECK(share([&](Draws& noise) { return noise.correlated(n, correlation); }, steps) <= 0.072);
    }
  CHECK(share([](Draws& noise) { return noise.correlated(20, 0.7); }, drifts) <= 0.072);
}

TEST_CASE("a drift is one, and no step between two values") {
  for (const size_t n : {12u, 16u}) {
    const auto draw = [&](Draws& noise) { return noise.drift(n, 0.35); };
    CHECK(share(draw, steps) <= 0.072);
    CHECK(share(draw, drifts) >= (n == 12 ? 0.2 : 0.6));
  }
}

TEST_CASE("steps are found") {
  const auto of = [](size_t n, double size) {
    return share([&](Draws& noise) { return noise.steps({{n / 2, 0}, {n - n / 2, size}}); }, steps);
  };
  CHECK(of(16, 2.66) >= 0.35);
  CHECK(of(20, 2.66) >= 0.5);
  CHECK(of(16, 6) >= 0.9);
  CHECK(of(40, 1.75) >= 0.6);
}

TEST_CASE("the newest values that lie apart from all others are outlying") {
  std::vector<double> values = Draws(11).steps({{19, 100}});
  CHECK_FALSE(newestOutlying(values));
  values.push_back(120);
  auto found = newestOutlying(values);
  REQUIRE(found);
  CHECK(found->count == 1);
  CHECK(found->p < 1e-6);
  values.push_back(INFINITY);
  found = newestOutlying(values);
  REQUIRE(found);
  CHECK(found->count == 2);
  values.push_back(100);
  CHECK_FALSE(newestOutlying(values));
  values.back() = 80;
  CHECK(newestOutlying(values)->count == 1);  // on the other side
  CHECK_FALSE(newestOutlying(std::vector<double>{1, 2, 3, 2, 1, 2, 90}));
  const auto outlying = [](const std::vector<double>& drawn) { return newestOutlying(drawn).has_value(); };
  CHECK(share([](Draws& noise) { return noise.correlated(20, 1); }, outlying) <= 0.05);
}

}  // namespace
}  // namespace expc::stats
