#include "runtime/stats/symmetry.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "runtime/stats/distributions.h"
#include "runtime/stats/estimators.h"

namespace expc::stats {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double exponential(NormalStream& stream) { return -std::log(stream.uniform()); }

struct Shares {
  double skewed = 0, covered = 0, before = 0;
};

/// How often samples of n count as skewed, and how often the interval that is then chosen covers `median`; `before`:
/// how often the signed rank's own does.
template <class Draw>
Shares sharesOf(unsigned n, double median, Draw draw) {
  constexpr unsigned kSamples = 2000;
  NormalStream stream(n);
  Shares shares;
  for (unsigned i = 0; i < kSamples; ++i) {
    std::vector<double> sample(n);
    for (double& value : sample) value = draw(stream);
    const bool skewed = skewnessP(sample) <= kSkewed;
    const Interval ranks = *signedRank(sample).interval(0.95);
    const Interval chosen = skewed ? *orderStatistics(sample).interval(0.95) : ranks;
    shares.skewed += skewed;
    shares.covered += chosen.low <= median && median <= chosen.high;
    shares.before += ranks.low <= median && median <= ranks.high;
  }
  return {shares.skewed / kSamples, shares.covered / kSamples, shares.before / kSamples};
}

}  // namespace

TEST_CASE("the triples test gives the p-values of another implementation") {
  const std::vector<double> right{0.3, -1.2, 0.8, 2.9, 0.1, -0.4, 5.5, 0.9, 1.1, -0.2}, even{1, 2, 3, 4, 5, 6.5, 7};
  CHECK(skewnessP(right) == doctest::Approx(0.1317763376669116).epsilon(1e-9));
  CHECK(skewnessP(even) == doctest::Approx(0.931493216124615).epsilon(1e-9));
}

TEST_CASE("skewness does not depend on place, unit or side, and infinities lie farthest out") {
  const std::vector<double> values{1, 2, 4, 8, 16, 30, 31, 33};
  std::vector<double> moved, mirrored;
  for (const double value : values) {
    moved.push_back(3 * value - 7);
    mirrored.push_back(-value);
  }
  CHECK(skewnessP(moved) == doctest::Approx(skewnessP(values)));
  CHECK(skewnessP(mirrored) == doctest::Approx(skewnessP(values)));
  CHECK(skewnessP(std::vector<double>{1, 2, 4, 8, 16, 32, 64}) == 0);
  CHECK(skewnessP(std::vector<double>{1, 2, 3, 4, 5, kInfinity, kInfinity}) < 0.2);
  CHECK(skewnessP(std::vector<double>{-kInfinity, 2, 3, 4, 5, 6, kInfinity}) > 0.5);
  CHECK(skewnessP(std::vector<double>{5, 5, 5, 5, 5, 5}) == 1);
  CHECK(skewnessP(std::vector<double>{1, 2, 9}) == 1);
}

TEST_CASE("symmetric differences are rarely taken for skewed, and covered either way") {
  for (const unsigned n : {6u, 10u, 20u}) {
    CAPTURE(n);
    const Shares normal = sharesOf(n, 0, [](NormalStream& s) { return s.next(); });
    const Shares tails = sharesOf(n, 0, [](NormalStream& s) { return exponential(s) - exponential(s); });
    CHECK(normal.skewed < 0.15);
    CHECK(tails.skewed < 0.17);
    CHECK(normal.covered > 0.935);
    CHECK(tails.covered > 0.935);
  }
}

TEST_CASE("where one side's noise has an exponential tail the median is covered far better than by signed ranks") {
  const auto draw = [](NormalStream& s) { return exponential(s) - 0.05 * s.next(); };
  const double median = std::log(2.0);  // nearly: the other side adds little
  const Shares twenty = sharesOf(20, median, draw), forty = sharesOf(40, median, draw);
  CHECK(twenty.skewed > 0.7);
  CHECK(twenty.before < 0.915);
  CHECK(twenty.covered > 0.915);
  CHECK(forty.before < 0.87);
  CHECK(forty.covered > 0.94);
}

TEST_CASE("many values are looked at in parts") {
  NormalStream stream(3);
  std::vector<double> even(5000), skewed(5000);
  for (double& value : even) value = stream.next();
  for (double& value : skewed) value = std::exp(0.2 * stream.next());
  CHECK(skewnessP(even) > 0.01);
  CHECK(skewnessP(skewed) < 0.01);
}

}  // namespace expc::stats
