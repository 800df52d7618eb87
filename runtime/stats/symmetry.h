#pragma once

#include <span>

namespace expc::stats {

/// The two-sided p-value of the triples test against skewness about an unknown centre: the share of triples whose
/// middle value is nearer to the lower one, less that of those where it is nearer to the upper, over its standard error
/// (Randles, Fligner, Policello & Wolfe 1980; Hollander & Wolfe, §3.9). Infinite values are farther away than every
/// other. Of more than 128 values the statistic is the mean over parts of them in their order, so the cost grows with
/// n. 1 for fewer than 5 values, or where all are equal.
double skewnessP(std::span<const double> values);

/// Where skewnessP is at most this, values count as skewed. The signed rank then speaks of another centre than the
/// median (its pseudo-median), and the more values there are the surer it is of it. Of 10 symmetric samples one is
/// taken for skewed; its sign test's interval is right there, too, and wider.
inline constexpr double kSkewed = 0.1;

}  // namespace expc::stats
