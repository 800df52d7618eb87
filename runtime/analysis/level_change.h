#pragma once

// The pairs of points that a change of one factor's level leads between: what `report --explain` asks about.

#include <llvm/Support/Error.h>

#include <string_view>
#include <vector>

#include "runtime/plan/plan.h"

namespace expc::analysis {

struct PairOfPoints {
  plan::Place treated, baseline;
};

/// Of "precision: fp64 -> fp16 @ gpus = 2, layout = nhwc": every pair of points with these levels, the first the
/// baseline, that agree in all other factors which are active at both. What stands behind @ may be left out. Errors
/// name what the plan has instead: an unknown factor or level, a text of another form, no such pair.
llvm::Expected<std::vector<PairOfPoints>> pairsOf(const plan::Plan& plan, std::string_view change);

}  // namespace expc::analysis
