#pragma once

// The averages of all pairs of values (Walsh averages), from which the signed-rank estimate and its intervals are
// read. The k-th smallest is found without storing all of them.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace expc::stats {

/// Mean of two values that may be infinite; NaN for infinities of different sign.
inline double middle(double a, double b) { return a == b ? a : a / 2 + b / 2; }

/// The n(n+1)/2 averages (d_i + d_j)/2, i <= j, in ascending order. Few averages are sorted once. Many are not
/// stored: the k-th is found by counting how many are at most a number, which takes one pass over the sorted
/// values, and by halving the range until few are left. Counts are kept, so later questions start from a narrow
/// range. Not thread-safe, because questions change what is kept.
class WalshAverages {
 public:
  /// `undefined`, one of the two infinities, stands for the average of opposite infinities, which has no value. At
  /// most `stored` averages are kept in memory.
  WalshAverages(std::span<const double> values, double undefined, size_t stored = 5000);

  /// The number of averages: n (n + 1) / 2.
  size_t size() const { return values_.size() * (values_.size() + 1) / 2; }
  /// The k-th smallest, from 0; below size().
  double at(size_t k) const;
  /// The median of the averages; NaN if its two middle ones are infinities of different sign.
  double median() const { return middle(at((size() - 1) / 2), at(size() / 2)); }

 private:
  double average(size_t i, size_t j) const;
  size_t countAtMost(double bound) const;
  double among(double above, double to, size_t k) const;

  std::vector<double> values_;  // ascending
  double undefined_ = 0;
  std::vector<double> sorted_;  // all averages, where they are few
  struct Known {
    size_t count = 0;  // averages that are at most `value`
    double value = 0;
  };
  mutable std::vector<Known> known_;  // ascending; if averages are not stored
};

}  // namespace expc::stats
