#pragma once

// How often the verdicts of a criterion were looked at, and what that costs: every further look at growing data is
// another chance to pass by chance, so all looks together spend the criterion's alpha (stats/looks.h).
//
// A look is a verdict that was said, with what was there. It belongs to what a claim reads (plan::subjectOf) and to
// nothing else: not to its name, its bound, or the study. How much was there is counted in the values themselves, by
// the runs that measured them.

#include <optional>
#include <set>
#include <vector>

#include "runtime/analysis/cells.h"
#include "runtime/stats/looks.h"

namespace expc::analysis {

/// The looks at a claim: what was planned before there was data to see, and what was said since. All in values of the
/// cell that has the fewest.
struct LookHistory {
  unsigned planned = 0;             // repetitions
  std::set<unsigned> looks;         // that were planned on the way there
  std::optional<unsigned> ended;    // values of the first verdict that had all that was planned
  std::set<unsigned> early;         // of verdicts of a design that was made smaller when there was data to see
  std::set<unsigned> further;       // of verdicts on more than was planned
  unsigned unread = 0;              // of these: by runs of which it is not known what they judged
  double left = stats::kLeastLeft;  // share of alpha that the planned looks leave to all others

  /// What a look is.
  enum class Place {
    Planned,  // on the way, or all that was planned: it spends what is planned for it
    Early,    // of a design that was made smaller: it spends of what is left over
    Further   // of more than was planned: the same
  };
  /// The looks before one at `values`, rising.
  std::set<unsigned> before(unsigned values) const;
  /// What may be spent up to a look at `values`, which is the last, and those before it; `of`: what is planned in all.
  std::vector<stats::LookAt> spending(unsigned values, unsigned of, Place place) const;
};

/// Where a criterion stands.
struct Standing {
  Look look;
  LookHistory history;
  stats::LookLevels levels;

  /// Whether this is the only look that there was, and all data is in.
  bool only() const { return look.before.empty() && look.now == look.of; }
};

/// By the cell with the fewest values. Looks that count are those that the design plans and that were passed, and
/// verdicts that earlier runs gave for fewer values. While a design without planned looks still wants trials, what is
/// there counts as if it were all: its verdict is provisional anyway. What was planned is what was so before there were
/// values enough to see anything; a design that is made smaller later, or goes beyond, is a look that nobody planned.
Standing standingOf(const Evidence& evidence, const plan::Criterion& criterion, const std::vector<MeasuredCell>& cells);

/// The looks once this one has been said: what a look at more will find.
LookHistory afterwards(const plan::Criterion& criterion, const std::vector<MeasuredCell>& cells,
                       const Standing& standing);

}  // namespace expc::analysis
