#pragma once

// Separates variation within sessions from variation between sessions, and makes intervals that allow for it. Values
// with their sessions come in; whether a claim can be judged is left to judge.

#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "runtime/stats/serial.h"

namespace expc::stats {

/// An estimate from a few session means, with its standard error and degrees of freedom for Student's t.
struct CentreOfMeans {
  double centre = 0, error = 0, freedoms = 0;

  /// Student's interval, which misses with probability `alpha`.
  std::pair<double, double> interval(double alpha) const;
};

/// The variation within sessions and between them, as standard deviations in the values' unit. `within` is pooled
/// over the sessions, `between` is that of the sessions' means.
struct Spreads {
  double within = 0, between = 0;
  unsigned sessions = 0;
  CentreOfMeans mean = {};  // the estimate if each session counts as one value
  /// Whether sessions count as different, by an F test of their distance against the scatter within them. From three
  /// sessions on the limit of p is 0.45 if all sessions have equally many values. It rises up to 1 as few sessions hold
  /// more of the values. The test is not strict, since few sessions show little. Two sessions of one point count as
  /// different up to 0.7: they share no partner that moves with them. docs/layers/statistics.md has the coverage.
  ///
  /// Two sessions of pairs count as different up to 0.05. Then two means are all that is known, and they give no
  /// interval that says anything.
  bool apart = false;
  /// Whether an earlier verdict, from some of the sessions, does not stand any more: they count as different, or, from
  /// three sessions of pairs on, p is at most 0.2. Then verdicts that stand are wrong in at most 2.2 % of studies on
  /// each side, however much sessions differ.
  bool refute = false;
  /// Factor by which two sessions of pairs lie farther apart than their scatter makes them (Birge 1932). At least 1,
  /// and 1 for all others; infinite if the two count as different.
  double stretch = 1;

  /// The intervals of all values, with an allowance for sessions: stretched, or widened to Student's interval of the
  /// sessions' means. None if two sessions of pairs count as different.
  NestedIntervals allowFor(const NestedIntervals& intervals) const;
};

/// The variation of values by session; `sessions[i]` is the session of `values[i]`. Absent for fewer than two
/// sessions, if no session has two values, and if a value is not finite. For values of one point (Alone), `mean` is
/// that of the sessions' medians.
std::optional<Spreads> spreads(std::span<const double> values, std::span<const int64_t> sessions,
                               Pairing pairing = Pairing::Paired);

/// The smallest number of sessions, from 3 to kMostSessions, at which Student's interval reaches at most `reach` to
/// each side, if session means scatter by `between`.
unsigned sessionsFor(double between, double reach, double alpha);
/// More sessions than anybody measures: sessionsFor stops there.
inline constexpr unsigned kMostSessions = 1000;

/// The shift between the mean of session means of `baseline` and that of `treated`, by Student's two-sample t on
/// session means with a common variance. Absent for fewer than three sessions in all, where a set has none, and
/// where a value is not finite.
std::optional<CentreOfMeans> shiftOfMeans(std::span<const double> treated, std::span<const int64_t> treated_sessions,
                                          std::span<const double> baseline, std::span<const int64_t> baseline_sessions);

}  // namespace expc::stats
