#pragma once

// How often the verdicts of a criterion were looked at, and what that costs: every further look at growing data is
// another chance to pass by chance, so all looks together spend the criterion's alpha (stats/looks.h).

#include <string>
#include <vector>

#include "runtime/analysis/cells.h"
#include "runtime/stats/looks.h"

namespace expc::analysis {

/// Where a criterion stands.
struct Standing {
  Look look;
  stats::LookLevels levels;

  /// Whether this is the only look that there was, and all data is in.
  bool only() const { return look.before.empty() && look.now == look.of; }
};

/// By the cell with the fewest values. Looks that count are those that the design plans and that were passed, and
/// verdicts that earlier runs gave for fewer repetitions. While a design without planned looks still wants trials, what
/// is there counts as if it were all: its verdict is provisional anyway.
Standing standingOf(const Evidence& evidence, const plan::Criterion& criterion, const std::vector<MeasuredCell>& cells);

/// Whether a look with these results, one for each criterion of the plan, decides every criterion that intervals of the
/// kind's trials decide; false where there is none.
bool lookDecides(const plan::Plan& plan, plan::TrialKind kind, const std::vector<CriterionResult>& results);

/// The repetitions that a design asks for now: up to its next look; where a look decided every criterion of the kind,
/// those that it had; else all.
unsigned repetitionsAsked(const Index& index, const plan::KindDesign& design);

/// The design whose trials ended before all that were planned because a look decided; null: none.
const plan::KindDesign* endedAtLook(const Index& index);
/// "every criterion is decided at the look after 8 of 20 timed repetitions"; "" where none ended so.
std::string endedAtLookText(const Index& index);

}  // namespace expc::analysis
