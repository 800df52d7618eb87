#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "runtime/stats/distributions.h"
#include "runtime/stats/estimators.h"
#include "runtime/stats/nested_intervals.h"

namespace expc::stats {
namespace {

/// The share of samples, each stopped between `least` and `most` values when its interval was at most `width` wide on
/// its wider side, whose interval covers the centre. With `paid` the intervals are those of
/// NestedIntervals::afterWidthStop.
double coverage(unsigned least, unsigned most, double width, bool paid) {
  constexpr unsigned kSamples = 1500;
  NormalStream stream(most);
  unsigned covered = 0;
  for (unsigned i = 0; i < kSamples; ++i) {
    std::vector<double> sample;
    Interval interval;
    while (sample.size() < most) {
      sample.push_back(stream.next());
      if (sample.size() < least) continue;
      const NestedIntervals fixed = signedRank(sample), intervals = paid ? fixed.afterWidthStop() : fixed;
      const auto now = intervals.interval(0.95);
      if (!now) continue;
      interval = *now;
      if (std::max(interval.high - *intervals.estimate(), *intervals.estimate() - interval.low) <= width) break;
    }
    covered += interval.low <= 0 && 0 <= interval.high;
  }
  return double(covered) / kSamples;
}

}  // namespace

TEST_CASE("intervals that are stopped by their width cover as promised once they pay for it") {
  // The widths are those at which intervals without the correction cover least.
  CHECK(coverage(6, 20, 0.6, true) >= 0.945);
  CHECK(coverage(6, 30, 0.45, true) >= 0.945);
  CHECK(coverage(6, 30, 0.45, false) <= 0.94);
}

TEST_CASE("what an interval attains is said of the stopped sample") {
  const std::vector<double> sample{-3, -1, 0, 1, 2, 4, 5, 6};
  const NestedIntervals fixed = signedRank(sample), stopped = fixed.afterWidthStop();
  const Interval wide = *stopped.interval(0.95), same = *fixed.interval(confidenceUnderWidthStop(0.95));
  CHECK(wide.low == same.low);
  CHECK(wide.high == same.high);
  CHECK(1 - wide.confidence == doctest::Approx((1 - same.confidence) / kWidthStopShare));
  CHECK(stopped.estimate() == fixed.estimate());
  CHECK_FALSE(signedRank(std::vector<double>{1, 2, 3, 4, 5, 6}).afterWidthStop().interval(0.95));
}

}  // namespace expc::stats
