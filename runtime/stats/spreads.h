#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>

namespace expc::stats {

/// A centre that few means of sessions tell: Student's t says how well.
struct CentreOfMeans {
  double centre = 0, error = 0, freedoms = 0;

  /// Its interval, which misses with `alpha`.
  std::pair<double, double> interval(double alpha) const;
};

/// How far values scatter inside a session, and how far sessions lie apart: both standard deviations, in the values'
/// unit. `within` is pooled over the sessions, `between` is that of the sessions' means.
struct Spreads {
  double within = 0, between = 0;
  unsigned sessions = 0;
  CentreOfMeans mean;  // with a session's mean as one value
  /// Whether they count as apart: that they lie so far apart by the scatter inside them alone has (by the F test) a
  /// chance of at most 0.5 where all sessions have equally many values, and of up to 1 the more of the values are those
  /// of few sessions. A test with so few sessions sees little, so it is no strict one: what holds both the interval
  /// that knows no sessions and that of the sessions' means then covers 93 %
  /// and more from three sessions on, however far these lie apart, and 91 % with two.
  bool apart = false;
};

/// `sessions[i]` is that of `values[i]`. Absent for fewer than two sessions, where no session has two values, and where
/// a value is not finite.
std::optional<Spreads> spreads(std::span<const double> values, std::span<const int64_t> sessions);

/// From one set of sessions to another, whose means scatter alike. Absent for fewer than three sessions in all, where a
/// set has none, and where a value is not finite.
std::optional<CentreOfMeans> shiftOfMeans(std::span<const double> treated, std::span<const int64_t> treated_sessions,
                                          std::span<const double> baseline, std::span<const int64_t> baseline_sessions);

}  // namespace expc::stats
