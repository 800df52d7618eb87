#pragma once

// The tree of quantifiers over cells, decided (docs/layers/statistics.md).

#include <vector>

#include "runtime/analysis/judgement.h"
#include "runtime/plan/plan.h"

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

}  // namespace expc::analysis
