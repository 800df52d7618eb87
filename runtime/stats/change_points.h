#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace expc::stats {

/// Fewer values than this are no segment, so that one odd value is no change.
inline constexpr size_t kLeastSegment = 3;

/// Where a sequence most probably changed its level: the first value of the later part, and the p-value of the claim
/// that it never did.
struct Change {
  size_t at = 0;
  double p = 1;
};

/// The split with the largest standardised rank sum (Pettitt 1979), and how often a random order of the same values has
/// a split as large: a permutation test, so exact whatever the values' distribution, for values that are independent.
/// The orders are drawn from a fixed seed, so the same values give the same answer. Nothing for fewer than 2
/// kLeastSegment values, or where one is NaN.
std::optional<Change> likeliestChange(std::span<const double> values);

/// All changes, ascending: the likeliest one if its p is significant at `alpha`, and then those of both parts (binary
/// segmentation).
std::vector<Change> changePoints(std::span<const double> values, double alpha);

}  // namespace expc::stats
