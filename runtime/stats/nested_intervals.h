#pragma once

// All intervals of one estimate, widest first, so that one object answers at every level and also gives p-values.
// Estimators make them; corrections for looks, sessions and serial correlation transform them.

#include <cstddef>
#include <functional>
#include <optional>
#include <utility>

#include "runtime/stats/interval.h"

namespace expc::stats {

/// An estimate with every two-sided interval that an exact method can give it, widest first: interval k misses with a
/// probability of at most alpha(k), which grows with k. Asking at which level a bound is satisfied is the same as
/// inverting a test, so this also yields p-values. Ends may be infinite (timeouts), and the estimate is absent where
/// infinities make it undefined.
///
/// There are about n^2 / 4 intervals of n differences, so none is stored: each is computed when somebody asks.
class NestedIntervals {
 public:
  using Alpha = std::function<double(size_t)>;
  using Ends = std::function<std::pair<double, double>(size_t)>;

  /// Nothing is known: no value, or one was NaN.
  NestedIntervals() = default;
  /// Interval k < `count` has `ends(k)` and misses with `alpha(k)`; from the first whose alpha is 1 on they say
  /// nothing and are left out.
  NestedIntervals(std::optional<double> estimate, size_t count, Alpha alpha, Ends ends);
  /// A value without uncertainty: one interval that is the value itself and never misses.
  static NestedIntervals exactly(double value);

  std::optional<double> estimate() const { return estimate_; }

  /// The narrowest interval with at least `confidence`; its own confidence says what it attains. Absent: too few
  /// values.
  std::optional<Interval> interval(double confidence) const;

  /// The smallest alpha at which the interval lies wholly where `holds(low, high)` is true; 1 where none does. `holds`
  /// must stay true for any interval inside one where it is true. This is the p-value of the test against the
  /// complement.
  double smallestAlpha(const std::function<bool(double, double)>& holds) const;

  /// These intervals for a sample whose size was chosen by their width (kWidthStopShare).
  NestedIntervals afterWidthStop() const;

  /// These intervals, each widened to hold `other(alpha)`: an interval that misses with its alpha by another method, or
  /// the range that cannot be told apart at any.
  NestedIntervals reaching(std::function<std::pair<double, double>(double alpha)> other) const;

  /// The estimate without any interval.
  NestedIntervals estimateAlone() const;

  /// These intervals, each `factor(alpha)` times as far from the estimate. The factor is at least 1 and does not grow
  /// with alpha. Without a finite estimate the intervals stay as they are.
  NestedIntervals stretched(std::function<double(double alpha)> factor) const;

  /// These intervals after an increasing function, e.g. exp.
  NestedIntervals mapped(std::function<double(double)> increasing) const;

 private:
  std::optional<double> estimate_;
  size_t count_ = 0;
  Alpha alpha_;
  Ends ends_;
};

/// Who repeats until an interval is narrow stops more often where the noise happened to look small, so that the
/// interval misses more often than it says: by simulation at most 7.3 % of the time instead of 5 % (normal noise, from
/// 6 up to 50 pairs), 13.3 instead of 10 and 1.4 instead of 1. Made at this share of alpha it keeps its promise there
/// and for 6 to 90 pairs (stats/width_stop_test.cpp).
inline constexpr double kWidthStopShare = 0.6;

/// The confidence at which one interval of a fixed sample says what a sample needs that was stopped by its width.
constexpr double confidenceUnderWidthStop(double confidence) { return 1 - (1 - confidence) * kWidthStopShare; }

/// Whether `p` is significant at `alpha`, forgiving the last bits (1 - 0.95 is not 0.05 in binary).
inline bool significant(double p, double alpha) { return p <= alpha * (1.0 + 1e-9); }

}  // namespace expc::stats
