#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "runtime/stats/serial.h"

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
  CentreOfMeans mean = {};  // with a session's mean as one value
  /// Whether they count as apart: their distance has, by the F test with the scatter inside them, a chance of at most
  /// 0.45 where all sessions have equally many values, and of up to 1 the more of the values are those of few sessions.
  /// Few sessions show little, so the test is not strict. Two sessions of one point count as apart up to 0.7: they
  /// share no partner that moves with them. docs/layers/statistics.md has the coverage.
  bool apart = false;
};

/// `sessions[i]` is that of `values[i]`. Absent for fewer than two sessions, where no session has two values, and where
/// a value is not finite. For values of one point (Alone) `mean` is that of the sessions' medians.
std::optional<Spreads> spreads(std::span<const double> values, std::span<const int64_t> sessions,
                               Pairing pairing = Pairing::Paired);

/// How many sessions Student's interval takes to reach no farther than `reach`, from 3 to kMostSessions, if their means
/// scatter by `between`.
unsigned sessionsFor(double between, double reach, double alpha);
inline constexpr unsigned kMostSessions = 1000;

/// From one set of sessions to another, whose means scatter alike. Absent for fewer than three sessions in all, where a
/// set has none, and where a value is not finite.
std::optional<CentreOfMeans> shiftOfMeans(std::span<const double> treated, std::span<const int64_t> treated_sessions,
                                          std::span<const double> baseline, std::span<const int64_t> baseline_sessions);

}  // namespace expc::stats
