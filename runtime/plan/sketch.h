#pragma once

// Sketches of distributions: thousands of values of one trial in a few KiB. A sketch counts the values in buckets whose
// ends differ by a constant factor, so that a percentile is known within a share of itself (DDSketch, Masson, Rim and
// Lee 2019).
//
// It is a row of numbers, so that whatever carries a series carries it: its error, then for each bucket that holds
// something the distance to the bucket before (of the first: its number) and a count. Numbers rise with the values,
// 0 is the bucket of zeros, and negative values have negative numbers. A sketch of values that are not all finite is
// NaN alone.

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "runtime/plan/plan.h"

namespace expc::plan {

/// The largest error of a value as a share of itself. Values that would take more than kMostBuckets get twice the
/// error, or four times.
inline constexpr double kSketchError = 0.005;
inline constexpr size_t kMostBuckets = 1024;

std::vector<double> sketchOf(std::span<const double> values);

/// The buckets as values with their counts, rising. Empty: some value was not finite, or this is no sketch.
std::vector<std::pair<double, uint64_t>> bucketsOf(const std::vector<double>& sketch);

/// The number of values.
uint64_t countOf(const std::vector<double>& sketch);

/// The number that a reduction makes of all values, as `reduced` does; of a sketch there is no first or last value.
std::optional<double> reducedSketch(const std::vector<double>& sketch, const Reduction& reduction);

/// The percentiles p1 to p99.
std::vector<double> percentilesOf(const std::vector<double>& sketch);

}  // namespace expc::plan
