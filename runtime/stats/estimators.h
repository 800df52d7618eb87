#pragma once

// Medians and Hodges-Lehmann estimates with exact, distribution-free intervals. Only ranks of values matter, so
// values may be infinite: a timeout ranks as worse than every value.

#include <optional>
#include <span>

#include "runtime/stats/nested_intervals.h"

namespace expc::stats {

/// The median with order-statistic intervals: with x(1) <= … <= x(n), [x(k), x(n+1-k)] misses the median with
/// probability at most 2 P(B <= k-1), B ~ Binomial(n, 1/2). These levels lie far apart for few values (89.1 and 97.9 %
/// for 10), so kStepsBetween intervals are interpolated between two of them. The weights are exact for a double
/// exponential and nearly so for other continuous values (Hettmansperger & Sheather 1986; Nyblom 1992). Ties only raise
/// the coverage of the closed interval. The estimate for even n is the mean of the two middle values; absent if these
/// are infinities of different sign. Source: Hoefler & Belli 2015, rule 6; Conover, Practical Nonparametric Statistics,
/// §3.2; Le Boudec 2010, ch. 2. Empty if there is no value or one is NaN.
NestedIntervals orderStatistics(std::span<const double> values);
/// Its estimate.
std::optional<double> medianOf(std::span<const double> values);

/// The number of intervals between two neighbouring depths; at 64 the levels of 10 values lie 0.14 percentage
/// points apart.
inline constexpr size_t kStepsBetween = 64;

/// The Hodges-Lehmann estimate of the centre of paired differences (the median of the n(n+1)/2 Walsh averages (d_i +
/// d_j)/2, i <= j) with the intervals that invert Wilcoxon's signed-rank test: [W(k), W(M+1-k)] misses with probability
/// 2 P(T+ <= k-1). Exact null distribution up to kExactPairs differences, above it the normal approximation with
/// continuity correction. Assumes differences that are symmetric about their centre. Source: Hollander & Wolfe, §3.2
/// and §3.3.
///
/// Ties and zeros: no value is dropped and no rank is shared, since the interval is read off the Walsh averages. The
/// closed interval is conservative when differences tie (Noether 1967, "Wilcoxon confidence intervals for location
/// parameters in the discrete case").
///
/// Infinite differences (one member timed out) count by rank. The average of +inf and -inf has no value: it is taken as
/// -inf at the lower end and +inf at the upper, which can only widen the interval. The estimate is absent where that
/// changes it. Empty if there is no value or one is NaN.
NestedIntervals signedRank(std::span<const double> differences);

}  // namespace expc::stats
