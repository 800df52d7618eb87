#pragma once

// Serial correlation of values with their predecessors: an upper bound of it, and wider intervals that allow for it.
// Values in the order of their measurement come in, with their sessions and how they are paired. Whether a claim can be
// judged is left to runtime/judge.

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/stats/nested_intervals.h"

namespace expc::stats {

/// Prior knowledge about values, since a few values cannot show whether they are correlated. Alone: everything that
/// drifts correlates values of one point. So an allowance is made unless they look independent, and always for fewer
/// than 8. Paired: members of a pair share what drifts. So an allowance is made only where a correlation is seen.
enum class Pairing { Alone, Paired };

/// Fewer pairs hardly show that they are correlated: at a correlation of 0.8 of each arm with itself, intervals of ten
/// cover 65 % where those of twenty cover 94 % (docs/layers/statistics.md).
inline constexpr size_t kPairsThatShow = 16;

/// The correlation of a value with the one before it in its session, pooled over samples that were measured side by
/// side. It is computed on normal scores, so that neither an outlier nor a scale matters. The bias from estimating a
/// session's mean is corrected (Marriott & Pope 1954).
class SerialCorrelation {
 public:
  /// Adds a sample. `sessions[i]` is the session of `values[i]`; values are in the order of their measurement.
  /// Sessions of fewer than three values show no correlation and are left out. `weight`: below 1 for samples that share
  /// noise, such as the rows of one process, which tell less than as many independent ones.
  void add(std::span<const double> values, std::span<const int64_t> sessions, double weight = 1);
  /// An upper bound of the correlation, from 0 to below 1; 0 if no allowance is made. Intervals made for the
  /// estimate itself would miss too often whenever it is small by chance.
  double atMost(Pairing pairing) const;

 private:
  double products_ = 0, squares_ = 0, taken_ = 0, values_ = 0, sessions_ = 0;
};

/// The factor by which the variance of the mean exceeds that of as many independent values, if values are
/// first-order autoregressive with this correlation inside each session. At least 1.
double inflationOf(double correlation, std::span<const int64_t> sessions);

/// Widens intervals of correlated values: by the inflation, by the amount that the scatter of correlated values is too
/// small, and by Student's t for the number of independent values that carry as much information.
NestedIntervals widened(const NestedIntervals& intervals, double correlation, std::span<const int64_t> sessions,
                        Scale scale = Scale::Linear);

/// Kendall's tau of values with time within their sessions, if they keep rising or falling (|tau| of at least 0.5
/// and p <= 0.01). Such values have no level that could be claimed. Otherwise 0.
double trendOf(std::span<const double> values, std::span<const int64_t> sessions);

}  // namespace expc::stats
