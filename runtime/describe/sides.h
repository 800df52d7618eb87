#pragma once

// Two sets of results of one plan beside each other: what moved. They come from different sessions, so nothing is
// paired, and what is found holds of the sessions first.

#include <optional>
#include <string>
#include <vector>

#include "runtime/judge/index.h"
#include "runtime/judge/results.h"

namespace expc::describe {

/// How far apart sessions of the same may lie where nothing shows it, as with one session on each side: what moved did
/// so by more. Placement, temperature and the state of a machine make some per cent; this leaves room.
inline constexpr double kSessionsApart = 1.25;

/// A metric at a point, or a cell of a comparison, on both sides.
struct Shift {
  std::string subject;  // the metric or the comparison
  std::string label;    // "precision=fp32 gpus=2"
  bool comparison = false;
  std::string unit, dimension;
  unsigned before_n = 0, after_n = 0;   // values
  std::optional<double> before, after;  // medians
  bool ratio = false;                   // `estimate` is after / before, else after - before
  std::optional<double> estimate;
  /// At kConfidence, for this one alone, with the spread between sessions in it; absent: too few values.
  std::optional<stats::Interval> interval;
  double p = 1;             // that both sides' sessions are of one distribution
  bool moved = false;       // by Holm over all shifts at 1 - kConfidence
  bool tellable = false;    // so many values could have been found to have moved, among so many shifts
  bool constant = false;    // exact, and never varied on either side: no matter of chance
  bool by_session = false;  // the spread between sessions is seen, and not only allowed for
  /// These sessions lie apart by more than what is inside them, and not by more than what sessions may.
  bool apart = false;
  /// Whether a metric that moved, or lies apart, did so for worse; absent for a comparison, and for a metric that does
  /// not say what is better.
  std::optional<bool> worse;
  bool regression = false;  // it moved for worse, and its whole interval lies beyond the margin
  /// Whether it got worse cannot be told: too few values, or sessions that may lie so far apart.
  bool open = false;
  /// A time, rate or size that one side alone has above zero, so that no ratio says how it changed; to look better for
  /// that is no good news.
  bool zero = false;
};

struct Sides {
  std::vector<Shift> shifts;                 // what both sides have; by subject as in the plan, then by point
  unsigned tested = 0;                       // shifts that Holm's procedure was over
  judge::Scope before, after;                // sessions and nodes of the values
  unsigned only_before = 0, only_after = 0;  // metrics at points that one side alone has

  /// Whether every shift that could be told, and is a matter of chance, has the spread between sessions in it, and some
  /// shift has.
  bool generalises() const;
  /// Whether some shift is: what is exact, and constant on both sides, is not.
  bool ofChance() const;
};

/// Both indices must be of one plan. What reads exact metrics alone, and is constant on both sides, is compared as it
/// is; all else by stats::rankSum, on logs where all values are above 0 and no comparison subtracts. `margin`: how much
/// worse a metric may get; 0.02 is 2 %, of a difference of shares two points.
Sides compareSides(const judge::Index& before, const judge::Index& after, double margin = 0);

}  // namespace expc::describe
