#pragma once

// Compares two samples that are not paired: the Hodges-Lehmann shift with intervals that invert the Mann-Whitney test.
// Paired values are left to estimators.h.

#include <memory>
#include <span>
#include <vector>

#include "runtime/stats/nested_intervals.h"

namespace expc::stats {

/// P(U <= u) for u = 0 .. m n under the null of the Mann-Whitney statistic of samples of m and n values without ties,
/// both at most kExactPairs. By the recursion over which sample has the largest value (Mann & Whitney 1947). Computed
/// once for each pair of sizes.
std::shared_ptr<const std::vector<double>> rankSumCdf(unsigned m, unsigned n);

/// The shift from `baseline` to `treated`, two samples that are not paired: the median of all differences treated_i
/// - baseline_j (Hodges-Lehmann), with the intervals that invert the Mann-Whitney-Wilcoxon test. P-values are exact
/// if both samples have one distribution; intervals are exact if the distributions differ only by a shift. Above
/// kExactPairs values on a side, the normal approximation with continuity correction is used. Source: Hollander &
/// Wolfe, §4.1-4.3.
///
/// Ties only widen the closed intervals. Infinite values (timeouts) count by rank: the difference of two equal ones is
/// 0. Empty if a side has no value or one is NaN.
NestedIntervals rankSum(std::span<const double> treated, std::span<const double> baseline);

}  // namespace expc::stats
