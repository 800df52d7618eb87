#pragma once

// Criteria: what is measured for one is decided by the tree of quantifiers over its cells (docs/layers/statistics.md),
// held to controls, and where it is open told what further blocks would do.

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/analysis/cells.h"
#include "runtime/analysis/judgement.h"
#include "runtime/analysis/looks.h"

namespace expc::analysis {

/// The smallest alpha at which a cell's interval wholly satisfies, and wholly violates, the bound; 1 if none does.
struct Evidences {
  double satisfied = 1, violated = 1;
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
/// forall and pass of an exists need one child by Holm over the children. Nested quantifiers pass on the level that
/// their parent gives them.
Decision decide(const plan::Claim& claim, const std::vector<Evidences>& cells, double alpha);

/// What a criterion is decided from, whatever its bound is.
struct MeasuredCriterion {
  std::vector<MeasuredCell> cells;  // those of the criterion, in their order
  Standing standing;                // of a criterion with a confidence
};

/// For a criterion that has cells and claims no infeasibility.
MeasuredCriterion measureCriterion(const Evidence& evidence, const plan::Criterion& criterion);

/// The verdicts that the bounds of `criterion` get from what was measured for it: every one that there can be, of the
/// criterion and of each cell.
Decision decideCriterion(const plan::Criterion& criterion, const MeasuredCriterion& measured);

/// Whether intervals of this kind's trials decide it.
bool isLookedAt(const plan::Criterion& criterion, plan::TrialKind kind);

/// Whether a look with these results, one for each criterion of the plan, decides every criterion that intervals of the
/// kind's trials decide; false where there is none.
bool lookDecides(const plan::Plan& plan, plan::TrialKind kind, const std::vector<CriterionResult>& results);

/// One that claims that its points run out of memory passes at a point that did in kInfeasibleBlocks blocks (in its
/// only block, if the design has no second) and never ran well, and fails where a trial was valid.
CriterionResult judgeCriterion(const Evidence& evidence, const plan::Criterion& criterion);

/// Ids of the points of which a criterion claims that they run out of memory. They are started whatever is expected of
/// them, since an estimate decides no claim.
std::set<std::string> claimedInfeasible(const plan::Plan& plan);

/// Judges each control by each metric that a criterion with a confidence compares (all metrics of its kind if none
/// does), and marks the criteria that it leaves untrusted. Their verdicts stay what the intervals make them.
void judgeControls(const Evidence& evidence, Judgement& judgement);

/// For an undecided criterion with a confidence. The half-width of an interval shrinks with the root of the pairs, so a
/// cell whose estimate is `gap` from its bound takes about pairs * (half-width / gap)^2, and somewhat more where blocks
/// beyond those that are planned make a further look, whose intervals are wider (looks.h). A cell without an interval
/// takes as many pairs as one needs. Of a forall the cell that takes the most counts, of an exists the one that takes
/// the least. Nothing where a cell lacks something else than pairs: its trials fail, or were not run, or a clock's step
/// keeps it open.
std::optional<NextStep> nextStep(const Evidence& evidence, const plan::Criterion& criterion,
                                 const MeasuredCriterion& measured);

/// For a criterion that is untrusted because the interval of a control leaves its `band`, by the same rule. Nothing
/// where the estimate lies outside too: then no number of pairs would bring the interval in.
std::optional<NextStep> nextStepForTrust(const Evidence& evidence, const plan::Cell& control, const plan::Bound& band,
                                         const CellEstimate& estimate);

}  // namespace expc::analysis
