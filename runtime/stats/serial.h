#pragma once

// Values that go on from one to the next: how much they do, and how many independent ones they are worth.

#include <cstddef>
#include <cstdint>
#include <span>

namespace expc::stats {

/// The correlation of a value with the one before it in its session, pooled over samples that were measured side by
/// side. It is that of normal scores, so that neither an outlier nor a scale matters. A short run shows too little of
/// it: what a mean that is estimated takes away is put back (Marriott & Pope 1954), and so is five eighths of a
/// standard error; what lies within a quarter of one of none is none. docs/layers/statistics.md says what that gives.
class SerialCorrelation {
 public:
  /// `sessions[i]` is that of `values[i]`; values are in the order in which they were measured.
  void add(std::span<const double> values, std::span<const int64_t> sessions);
  /// From 0 to below 1.
  double value() const;

 private:
  double products_ = 0, squares_ = 0;
  size_t values_ = 0, samples_ = 0, neighbours_ = 0;
};

/// By how much the variance of the number of values below the median is larger than that of as many independent ones,
/// if values are normal, and each is its predecessor times `correlation` and something new. At least 1.
double inflationOf(double correlation, std::span<const int64_t> sessions);

}  // namespace expc::stats
