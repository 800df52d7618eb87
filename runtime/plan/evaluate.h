#pragma once

// The closed terms of a plan, evaluated inside one block, and whether values satisfy a bound.

#include <llvm/ADT/STLFunctionalExtras.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/plan/reason.h"

namespace expc::plan {

/// The reason why a reading ranks as worse than every value of its metric; for a term, the reasons of its parts.
struct Worst {
  bool timed_out = false;  // the trial
  bool diverged = false;   // the trial gave no finite number, whichever way it is infinite
  bool never = false;      // a series never reached the bound of a FirstTerm

  explicit operator bool() const { return timed_out || diverged || never; }
  Worst& operator|=(Worst other) {
    timed_out |= other.timed_out, diverged |= other.diverged, never |= other.never;
    return *this;
  }
  friend Worst operator|(Worst left, Worst right) { return left |= right; }
};

/// One metric of one point in one block. The worst reading is +inf where lower is better, -inf where higher is.
struct Reading {
  std::optional<double> value;
  Worst worst = {};
  Why why = nullptr;  // when there is no value
  /// Of a series metric: what was recorded; its value is the last of these. Points into the results.
  const std::vector<double>* series = nullptr;
};
using Lookup = std::function<Reading(const MetricTerm&)>;

/// The value of `term`, perhaps infinite; `parameters` are those of the point in question, for a derived metric.
/// Without one, `why` says what is missing: a metric, an operand of a ratio above zero, a divisor other than zero, an
/// active parameter, or a sense (two members of a pair that are both worse than every value cannot be told apart). In
/// quotients and ratios the worst value of a metric that is better when higher is 0: rates are positive. A series that
/// never reaches the bound of a FirstTerm gives +inf; an element that is not finite satisfies no bound.
Reading evaluate(const Term& term, const Lookup& lookup, const llvm::json::Object* parameters = nullptr);

/// The one rule of what a ratio can be made from, and be: a value above zero. The worst reading is exempt, since in a
/// ratio of rates it is 0. `reading` has a value.
inline bool isAboveZero(const Reading& reading) { return reading.worst || *reading.value > 0; }

/// Calls `visit` for the term and all that it is computed from.
void forEachTerm(const Term& term, llvm::function_ref<void(const Term&)> visit);

/// Every metric term in `term`, the operands of FirstTerm and GapTerm included.
std::vector<MetricTerm> metricTerms(const Term& term);

/// The measured metrics that `term` reads, in place of derived ones what these are computed from.
std::vector<MetricTerm> measuredTerms(const Plan& plan, const Term& term);

/// Identifies the subject of the claim about a cell, independent of its name, unit, direction and bound: a digest of
/// the measured metrics that it reads, of their points, and of the kind of trials. `ids`: other ids that points have in
/// another plan.
std::string subjectOf(const Plan& plan, const Cell& cell, const std::map<std::string, std::string>& ids = {});

/// Whether all of [low, high] satisfies the bound; a value is [v, v]. Values that differ from the bound by rounding
/// alone (a relative 1e-12) count as equal to it.
bool satisfies(const Bound& bound, double low, double high);

/// Whether none of [low, high] satisfies it.
bool violates(const Bound& bound, double low, double high);

/// How far [low, high] is inside (positive) or outside the bound, in its unit: the cell with the least is the one to
/// show.
double margin(const Bound& bound, double low, double high);

/// The numbers that lie on it.
inline std::vector<double> ends(const Bound& bound) {
  return bound.relation == Relation::Within ? std::vector{bound.low, bound.high} : std::vector{bound.low};
}

/// The bound of one cell: its own where the criterion asks for agreement with a reference, else the criterion's.
inline const Bound& boundOf(const Criterion& criterion, const Cell& cell) {
  return cell.bound ? *cell.bound : criterion.bound;
}

}  // namespace expc::plan
