#pragma once

// Evaluates the closed terms of a plan inside one block, and says whether values satisfy a bound. Measured and
// published values use the same evaluator, so both get the same meaning of timeouts, divergence and missing values.

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/plan/note.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/reason.h"

namespace expc::plan {

/// The reasons why a reading ranks as worse than every value of its metric; for a term, those of its parts.
struct Worst {
  bool timed_out = false;  // the trial timed out
  bool diverged = false;   // the trial gave no finite number, whichever way it is infinite
  bool never = false;      // a series never reached the bound of a FirstTerm

  explicit operator bool() const { return timed_out || diverged || never; }
  Worst& operator|=(Worst other) {
    timed_out |= other.timed_out, diverged |= other.diverged, never |= other.never;
    return *this;
  }
  friend Worst operator|(Worst left, Worst right) { return left |= right; }
};

/// A reading of one metric of one point in one block. The worst reading is +inf if lower is better, -inf if higher
/// is.
struct Reading {
  std::optional<double> value;
  Worst worst = {};
  Why why = nullptr;  // set if there is no value
  /// For a series metric: the recorded values, of which `value` is the last. Refers to the caller's results.
  const std::vector<double>* series = nullptr;
  bool sketch = false;  // `series` is one (sketch.h), and `value` its median
};
/// Finds the reading of a metric term; asked once for each occurrence.
using Lookup = std::function<Reading(const MetricTerm&)>;

/// The value of `term`, perhaps infinite; `parameters` are those of the point, for a derived metric. Without a
/// value, `why` says what is missing: a metric, an operand of a ratio above zero, a divisor other than zero, an
/// active parameter, or a meaning (two members of a pair that both rank as worst cannot be compared). In quotients
/// and ratios the worst value of a metric that is better when higher is 0, since rates are positive. A series that
/// never reaches the bound of a FirstTerm gives +inf; an element that is not finite satisfies no bound.
Reading evaluate(const Term& term, const Lookup& lookup, const json::Object* parameters = nullptr);

/// Whether a value can be a member or a result of a ratio: it is above zero. The worst reading is exempt, because
/// in a ratio of rates it is 0. `reading` must have a value. No other place states this rule.
inline bool isAboveZero(const Reading& reading) { return reading.worst || *reading.value > 0; }

/// The number that a reduction makes of values; NaN, for "diverged", if one of those that it takes is not finite.
/// Percentiles lie between two values in proportion to their distance (type 7 of Hyndman and Fan, NumPy's default).
/// Nothing if no value is left to take.
std::optional<double> reduced(std::vector<double> values, const Reduction& reduction);

/// The number of values that `reduction` takes of `count`, and the values.
uint64_t taken(uint64_t count, const Reduction& reduction);
std::span<double> takenOf(std::span<double> values, const Reduction& reduction);

/// The fewest values that tell something of a percentile: one is expected beyond it. 1 for other reductions.
uint64_t leastValues(const Reduction& reduction);

/// The note that `metric` is a percentile of too few of `count` values, if it is.
std::optional<Note> fewValues(const std::string& metric, uint64_t count, const Reduction& reduction);

/// A reduction as it is written: "p99.9", "median".
std::string toString(const Reduction& reduction);

/// Calls `visit` for the term and every term inside it, outermost first.
void forEachTerm(const Term& term, function_ref<void(const Term&)> visit);

/// Every metric term in `term`, including the operands of FirstTerm and GapTerm.
std::vector<MetricTerm> metricTerms(const Term& term);

/// Whether the cell's values are pairs: they compare points. An aggregated metric reads several points and compares
/// none.
bool isPaired(const Cell& cell);

/// The measured metrics that `term` needs: derived ones are replaced by what they are computed from.
std::vector<MetricTerm> measuredTerms(const Plan& plan, const Term& term);

/// Identifies what a claim about a cell is about, independent of its name, unit, direction and bound: a digest of
/// the measured metrics that it reads, of their points, and of the kind of trials. Two claims with one subject look
/// at the same data. `ids` replaces ids of points by those of another plan.
std::string subjectOf(const Plan& plan, const Cell& cell, const std::map<std::string, std::string>& ids = {});

/// Whether all of [low, high] satisfies the bound; a value is [v, v]. Numbers that differ from the bound only by
/// rounding (a relative 1e-12) count as equal to it.
bool satisfies(const Bound& bound, double low, double high);

/// Whether no part of [low, high] satisfies the bound.
bool violates(const Bound& bound, double low, double high);

/// The distance of [low, high] from violating the bound, in its unit; negative if it violates it. The cell with the
/// smallest margin is the one to show.
double margin(const Bound& bound, double low, double high);

/// The end of a bound, or both ends of a band.
inline std::vector<double> ends(const Bound& bound) {
  return bound.relation == Relation::Within ? std::vector{bound.low, bound.high} : std::vector{bound.low};
}

/// The assertion of a cell, if its criterion has several; else null.
inline const Assertion* assertionOf(const Criterion& criterion, const Cell& cell) {
  return criterion.assertions.empty() ? nullptr : &criterion.assertions[cell.assertion];
}

/// The bound of one cell: its own if the criterion asks for agreement with a reference, else that of its assertion.
inline const Bound& boundOf(const Criterion& criterion, const Cell& cell) {
  if (cell.bound) return *cell.bound;
  const Assertion* of = assertionOf(criterion, cell);
  return of ? of->bound : criterion.bound;
}

/// The unit of a cell's estimate.
inline const std::string& unitOf(const Criterion& criterion, const Cell& cell) {
  const Assertion* of = assertionOf(criterion, cell);
  return of ? of->unit : criterion.unit;
}

/// Whether a cell claims that its point runs out of memory.
inline bool isInfeasible(const Criterion& criterion, const Cell& cell) {
  const Assertion* of = assertionOf(criterion, cell);
  return of ? of->infeasible : criterion.infeasible;
}

/// Whether a cell claims that its trials have no value.
inline bool isAbsence(const Cell& cell) { return cell.term && cell.term->as<AbsentTerm>(); }

/// Whether trials show the truth of a cell's claim at once, which is about memory or missing values.
inline bool isSeen(const Criterion& criterion, const Cell& cell) {
  return isInfeasible(criterion, cell) || isAbsence(cell);
}

/// Whether intervals decide a cell: its claim has a confidence, and no trial shows the truth at once.
inline bool isEstimated(const Criterion& criterion, const Cell& cell) {
  return criterion.confidence && !isSeen(criterion, cell);
}

/// Whether a claim is no plain `forall` or `exists` over cells of one bound, so that words tell of its parts.
bool isComposed(const Criterion& criterion);

}  // namespace expc::plan
