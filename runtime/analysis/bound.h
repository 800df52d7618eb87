#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/evaluate.h"

namespace expc::analysis {

/// The bound of one cell: its own where the criterion asks for agreement with a reference, else the criterion's.
const plan::Bound& boundOf(const plan::Criterion& criterion, const plan::Cell& cell);

/// "below 1.2x" for ">= 1.2x", "outside 0.96x..1.04x" for a band.
std::string violation(const plan::Bound& bound);

/// What the cell with the least margin is called: "smallest", "largest", "closest to an end".
std::string_view extreme(const plan::Bound& bound);

/// The numbers a value must not be rounded to.
std::vector<double> ends(const plan::Bound& bound);

}  // namespace expc::analysis
