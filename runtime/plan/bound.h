#pragma once

#include <vector>

#include "runtime/plan/plan.h"

namespace expc::plan {

/// Whether all of [low, high] satisfies the bound; a value is [v, v]. Values that differ from the bound by rounding
/// alone (a relative 1e-12) count as equal to it.
bool satisfies(const Bound& bound, double low, double high);

/// Whether none of [low, high] satisfies it.
bool violates(const Bound& bound, double low, double high);

/// How far [low, high] is inside (positive) or outside the bound, in its unit: the cell with the least is the one to
/// show.
double margin(const Bound& bound, double low, double high);

/// The numbers that lie on it.
std::vector<double> ends(const Bound& bound);

/// The bound of one cell: its own where the criterion asks for agreement with a reference, else the criterion's.
const Bound& boundOf(const Criterion& criterion, const Cell& cell);

}  // namespace expc::plan
