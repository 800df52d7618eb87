#pragma once

// The smallest effect that a design can decide, computed before a run from the design and an assumed noise alone.
// simulate/diagnosis.h says more where trials are stored.

#include <optional>

#include "runtime/plan/plan.h"

namespace expc::judge {

struct Resolution {
  enum By {
    NoTrials,     // the design has none of the kind that the criterion reads
    Memory,       // whether points run out of memory
    EveryTrial,   // each single value must satisfy the bound
    ExactValues,  // they do not vary
    TooFew,       // values for an interval at its confidence: `needed` would do
    Interval,     // of a difference, or of one point: it has no scale
    HalfWidth     // of a ratio
  } by;
  unsigned repetitions = 0;  // that the design plans at least
  unsigned needed = 0;
  double half_width = 0;  // expected, relative
};

/// `noise`: the coefficient of variation of one run. Nothing for a criterion that is not asked or has no cells.
std::optional<Resolution> resolutionBefore(const Plan& plan, const Criterion& criterion, double noise);

}  // namespace expc::judge
