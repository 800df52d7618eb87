#pragma once

// Decides criteria: the cells' estimates come in, the tree of quantifiers over them gives the verdict
// (docs/layers/statistics.md), and controls may mark it as untrusted. Estimates are left to cells.h, words to the
// report.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/judge/cells.h"
#include "runtime/judge/results.h"
#include "runtime/stats/looks.h"

namespace expc::judge {

// How often the verdicts of a criterion were looked at, and what that costs: every further look at growing data is
// another chance to pass by chance, so all looks together spend the criterion's alpha (stats/looks.h).
//
// A look is a verdict that was said, with what was there. It belongs to what a claim reads (plan::subjectOf) and to
// nothing else: not to its name, its bound, or the study. How much was there is counted in the values themselves, by
// the runs that measured them.

/// The looks at a claim: what was planned before there was data to see, and what was said since. All in values of the
/// cell that has the fewest.
struct LookHistory {
  unsigned planned = 0;             // repetitions
  std::set<unsigned> looks;         // that were planned on the way there
  std::optional<unsigned> ended;    // values of the first verdict that had all that was planned
  std::set<unsigned> early;         // of verdicts of a design that was made smaller when there was data to see
  std::set<unsigned> further;       // of verdicts on more than was planned
  unsigned unread = 0;              // of these: by runs of which it is not known what they judged
  unsigned other_versions = 0;      // verdicts with another version of the program, which are none of these
  double left = stats::kLeastLeft;  // share of alpha that the planned looks leave to all others

  /// The role of a look in the design.
  enum class Place {
    Planned,  // on the way, or all that was planned: it spends what is planned for it
    Early,    // of a design that was made smaller: it spends of what is left over
    Further   // of more than was planned: the same
  };
  /// The looks before one at `values`, rising.
  std::set<unsigned> before(unsigned values) const;
  /// The error that may be spent at each look up to the last one at `values`; `of` is the number of values planned in
  /// all.
  std::vector<stats::LookAt> spending(unsigned values, unsigned of, Place place) const;
  /// The levels of an earlier look, if `of` values are planned in all.
  stats::LookLevels levelsAt(unsigned values, unsigned of) const;
};

/// Where a criterion stands.
struct Standing {
  Look look;
  LookHistory history;
  stats::LookLevels levels;

  /// Whether this is the only look that there was, and all data is in.
  bool only() const { return look.before.empty() && look.now == look.of; }
};

/// The standing of a criterion, by its cell with the fewest values. Looks that count are those that the design plans
/// and has passed, and verdicts that earlier runs gave for fewer values. While a design without planned looks still
/// wants trials, the values so far count as if they were all, since the verdict is provisional anyway. A look counts as
/// planned if the plan had it before there were enough values to see anything. A design that is made smaller later, or
/// that is exceeded, adds an unplanned look.
Standing standingOf(const Evidence& evidence, const Criterion& criterion, const std::vector<MeasuredCell>& cells);

/// The looks once this one has been said: what a look at more will find.
LookHistory afterwards(const Criterion& criterion, const std::vector<MeasuredCell>& cells, const Standing& standing);

/// The smallest alpha at which a cell's interval wholly satisfies, and wholly violates, the bound; 1 if none does.
struct Evidences {
  double satisfied = 1, violated = 1;
  /// The truth is seen, not estimated, as whether memory ran out: it cannot be wrong by chance, and needs no alpha.
  bool seen = false;
};

/// The levels at which the pass and the fail of one cell are decided.
struct Levels {
  double pass = 0, fail = 0;
};

struct Decision {
  Verdict verdict = Verdict::Inconclusive;  // Pass, Fail or Inconclusive
  std::vector<Verdict> cells;               // the same for each cell
  std::vector<Levels> levels;               // of each cell
};

/// Pass of a forall and fail of an exists need every child at `alpha` (intersection-union, Berger 1982); fail of a
/// forall and pass of an exists need one child by Holm over the children. Both are ends of one rule: at least k of n
/// children hold (stats::partialConjunction), and the claim fails if n - k + 1 of them fail. Nested quantifiers pass on
/// the level that their parent gives them. Children that are seen count as they are, and leave alpha to the others.
Decision decide(const plan::Claim& claim, const std::vector<Evidences>& cells, double alpha);

/// The evidence that decides a criterion, whatever its bound is.
struct MeasuredCriterion {
  std::vector<MeasuredCell> cells;  // those of the criterion, in their order; of claims about memory with a verdict
  Standing standing;                // of a criterion with a confidence: of the first kind of trials that it reads
  std::map<TrialKind, Standing> others = {};  // of further kinds, which have looks of their own

  const Standing& of(TrialKind kind) const {
    const auto other = others.find(kind);
    return other == others.end() ? standing : other->second;
  }
};

/// For a criterion that has cells.
MeasuredCriterion measureCriterion(const Evidence& evidence, const Criterion& criterion);

/// The verdicts that the bounds of `criterion` get from what was measured for it: every one that there can be, of the
/// criterion and of each cell.
Decision decideCriterion(const Criterion& criterion, const MeasuredCriterion& measured);

/// Whether intervals of this kind's trials decide it.
bool isLookedAt(const Criterion& criterion, TrialKind kind);

/// Whether a look with these results, one for each criterion of the plan, decides every criterion that intervals of the
/// kind's trials decide; false where there is none.
bool lookDecides(const Plan& plan, TrialKind kind, const std::vector<CriterionResult>& results);

/// Conditions that the criterion's error rate rests on beside its intervals, if they are not met or were not checked.
/// Empty where no value ever varied.
std::vector<Condition> conditionsOf(const Index& index, const Criterion& criterion, const CriterionResult& result);

/// Judges one criterion. A claim that points run out of memory passes at a point that did so in kInfeasibleBlocks
/// blocks (in its only block, if the design has no second) and never ran well. It fails where a trial was valid.
CriterionResult judgeCriterion(const Evidence& evidence, const Criterion& criterion);

/// Ids of the points of which a criterion claims that they run out of memory. They are started whatever is expected of
/// them, since an estimate decides no claim.
std::set<std::string> claimedInfeasible(const Plan& plan);

/// The smallest gap that the criterion claims, half of which a control must not differ by; nothing where pairs do not
/// decide it, or it claims none.
std::optional<double> gapForControls(const Criterion& criterion);

/// The confidence of each control's interval, so that all of them together find nothing wrong with a healthy set-up in
/// kConfidence of studies.
double controlConfidence(const Plan& plan);

/// Judges each control by each metric that a criterion with a confidence compares (all metrics of its kind if none
/// does), and marks the criteria that it leaves untrusted. Their verdicts stay what the intervals make them.
void judgeControls(const Evidence& evidence, Judgement& judgement);

}  // namespace expc::judge
