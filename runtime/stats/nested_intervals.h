#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "runtime/stats/interval.h"

namespace expc::stats {

/// An estimate with every two-sided interval that an exact method can give it, widest first: interval k misses with a
/// probability of at most alpha(k), which grows with k. Asking at which level a bound is satisfied is the same as
/// inverting a test, so this also yields p-values. Ends may be infinite (timeouts), and the estimate is absent where
/// infinities make it undefined.
class NestedIntervals {
 public:
  struct Entry {
    double low = 0, high = 0;
    double alpha = 0;
  };

  /// Nothing is known: no value, or one was NaN.
  NestedIntervals() = default;
  NestedIntervals(std::optional<double> estimate, std::vector<Entry> entries)
      : estimate_(estimate), entries_(std::move(entries)) {}
  /// A value without uncertainty: one interval that is the value itself and never misses.
  static NestedIntervals exactly(double value) { return {value, {{value, value, 0.0}}}; }

  std::optional<double> estimate() const { return estimate_; }

  /// The narrowest interval with at least `confidence`; its own confidence says what it attains. Absent: too few
  /// values.
  std::optional<Interval> interval(double confidence) const;

  /// The smallest alpha at which the interval lies wholly where `holds(low, high)` is true; 1 where none does. `holds`
  /// must stay true for any interval inside one where it is true. This is the p-value of the test against the
  /// complement.
  double smallestAlpha(const std::function<bool(double, double)>& holds) const;

  /// The same intervals after an increasing function, e.g. exp.
  NestedIntervals mapped(const std::function<double(double)>& increasing) const;

 private:
  std::optional<double> estimate_;
  std::vector<Entry> entries_;
};

/// Whether `p` is significant at `alpha`, forgiving the last bits (1 - 0.95 is not 0.05 in binary).
inline bool significant(double p, double alpha) { return p <= alpha * (1.0 + 1e-9); }

}  // namespace expc::stats
