#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/plan.h"

namespace expc::analysis {

/// Whether all of [low, high] satisfies the bound; a value is [v, v]. Values that differ from the bound by rounding
/// alone (a relative 1e-12) count as equal to it.
bool satisfies(const plan::Bound& bound, double low, double high);

/// Whether none of [low, high] satisfies it.
bool violates(const plan::Bound& bound, double low, double high);

/// The bound of one cell: its own where the criterion asks for agreement with a reference, else the criterion's.
const plan::Bound& boundOf(const plan::Criterion& criterion, const plan::Cell& cell);

/// How far [low, high] is inside (positive) or outside the bound, in its unit: the cell with the least is the one to
/// show.
double margin(const plan::Bound& bound, double low, double high);

/// "below 1.2x" for ">= 1.2x", "outside 0.96x..1.04x" for a band.
std::string violation(const plan::Bound& bound);

/// What the cell with the least margin is called: "smallest", "largest", "closest to an end".
std::string_view extreme(const plan::Bound& bound);

/// The numbers a value must not be rounded to.
std::vector<double> ends(const plan::Bound& bound);

}  // namespace expc::analysis
