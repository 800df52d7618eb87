#pragma once

// All intervals of one estimate, widest first, so that one object answers at every level and also gives p-values.
// Estimators make them; corrections for looks, sessions and serial correlation transform them.

#include <cstddef>
#include <functional>
#include <optional>
#include <utility>

#include "runtime/stats/interval.h"

namespace expc::stats {

/// Where distances are measured: Logarithmic of magnitudes, which are never negative, so that a wider interval of a
/// time does not reach 0. Numbers below 0, and all around an estimate of 0, have linear distances there too.
enum class Scale { Linear, Logarithmic };

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
  /// Interval k < `count` has the ends `ends(k)` and misses with probability at most `alpha(k)`. Intervals from the
  /// first whose alpha is 1 on say nothing, and are left out.
  NestedIntervals(std::optional<double> estimate, size_t count, Alpha alpha, Ends ends);
  /// A value without uncertainty: one interval that is the value itself and never misses.
  static NestedIntervals exactly(double value);

  /// The estimate that all intervals belong to; absent if infinities leave it undefined.
  std::optional<double> estimate() const { return estimate_; }

  /// The narrowest interval with at least `confidence`; it carries the confidence that it attains. Absent if there
  /// are too few values.
  std::optional<Interval> interval(double confidence) const;

  /// The smallest alpha at which `holds(low, high)` is true of the interval; 1 if it never is. `holds` must stay
  /// true for every interval inside one where it is true. This is the p-value of the test against the complement.
  double smallestAlpha(const std::function<bool(double, double)>& holds) const;

  /// These intervals for a sample whose size was chosen by their width (kWidthStopShare).
  NestedIntervals afterWidthStop() const;

  /// These intervals, each widened until it contains `other(alpha)`: the interval of another method with the same
  /// alpha, or a range that cannot be resolved at any alpha.
  NestedIntervals reaching(std::function<std::pair<double, double>(double alpha)> other) const;

  /// The estimate without any interval.
  NestedIntervals estimateAlone() const;

  /// These intervals, each `factor(alpha)` times as far from the estimate on a scale. The factor is at least 1 and does
  /// not grow with alpha. Without a finite estimate the intervals stay as they are.
  NestedIntervals stretched(std::function<double(double alpha)> factor, Scale scale = Scale::Linear) const;

  /// These intervals after a transformation by an increasing function, such as exp.
  NestedIntervals mapped(std::function<double(double)> increasing) const;

  /// These intervals, each computed now, if that is less work than `questions` calls of smallestAlpha.
  NestedIntervals computed(size_t questions) const;

 private:
  std::optional<double> estimate_;
  size_t count_ = 0;
  Alpha alpha_;
  Ends ends_;
};

/// The share of alpha for samples whose size was chosen by the width of their interval. Such a rule stops more
/// often when the noise happens to look small, so its intervals miss too often: by simulation up to 7.3 % of the
/// time instead of 5 % (normal noise, 6 to 50 pairs), 13.3 instead of 10, 1.4 instead of 1. Intervals at this share
/// of alpha keep what they promise, from 6 to 90 pairs (stats/width_stop_test.cpp).
inline constexpr double kWidthStopShare = 0.6;

/// The confidence that the interval of a sample of fixed size needs, so that it holds at `confidence` for a sample
/// that was stopped by its width.
constexpr double confidenceUnderWidthStop(double confidence) { return 1 - (1 - confidence) * kWidthStopShare; }

/// Whether `p` is significant at `alpha`, forgiving the last bits (1 - 0.95 is not 0.05 in binary).
inline bool significant(double p, double alpha) { return p <= alpha * (1.0 + 1e-9); }

}  // namespace expc::stats
