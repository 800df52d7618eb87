#include "runtime/plan/evaluate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>

#include "runtime/plan/json.h"

namespace expc::plan {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double slack(double end) { return 1e-12 * std::abs(end); }
bool atLeast(double value, double end) { return value >= end - slack(end); }
bool above(double value, double end) { return value > end + slack(end); }

/// The ends that a value must not go beyond; `open`: nor be.
struct Range {
  std::optional<double> low, high;
  bool open = false;
};

Range rangeOf(const Bound& bound) {
  switch (bound.relation) {
    case Relation::GreaterEqual:
    case Relation::Greater:
      return {bound.low, {}, bound.relation == Relation::Greater};
    case Relation::LessEqual:
    case Relation::Less:
      return {{}, bound.low, bound.relation == Relation::Less};
    case Relation::Equal:
      return {bound.low, bound.low};
    case Relation::Within:
      return {bound.low, bound.high};
  }
  return {};
}

Reading make(double value, bool timed_out) {
  if (!std::isnan(value)) return {value, timed_out};
  return {std::nullopt, timed_out, because({timed_out ? Reason::BothTimedOut : Reason::NeitherReached})};
}

/// Two operands of what needs no quotient; NaN comes of infinities that cannot be weighed against each other.
Reading combined(OperationTerm::Op op, const Reading& left, const Reading& right) {
  using Op = OperationTerm::Op;
  if (!left.value) return left;
  if (!right.value) return right;
  const double a = *left.value, b = *right.value;
  const double value = op == Op::Sum          ? a + b
                       : op == Op::Difference ? a - b
                       : op == Op::Product    ? a * b
                       : op == Op::Max        ? std::max(a, b)
                                              : std::min(a, b);
  const bool timed_out = left.timed_out || right.timed_out;
  if (std::isnan(value)) return {std::nullopt, timed_out, because({Reason::BothWorst})};
  return {value, timed_out};
}

/// Of a reading that should be one.
Reading noSeries(const Reading& reading, const std::string& metric) {
  return {std::nullopt, false, reading.why ? reading.why : because({.code = Reason::NoSeries, .name = metric})};
}

Reading firstOf(const FirstTerm& term, const Reading& reading) {
  if (reading.timed_out) return {kInfinity, true};
  if (!reading.series) return noSeries(reading, term.series.metric);
  const std::vector<double>& values = *reading.series;
  const auto found =
      std::find_if(values.begin(), values.end(), [&](double value) { return satisfies(term.bound, value, value); });
  return {found == values.end() ? kInfinity : static_cast<double>(found - values.begin() + 1)};
}

Reading gapOf(const GapTerm& term, const Reading& treated, const Reading& baseline) {
  if (treated.timed_out || baseline.timed_out) return {kInfinity, true};
  for (const Reading* side : {&treated, &baseline})
    if (!side->series) return noSeries(*side, term.treated.metric);
  const size_t common = std::min(treated.series->size(), baseline.series->size());
  if (common == 0) return {std::nullopt, false, because({.code = Reason::NoCommonPlace, .name = term.treated.metric})};
  double gap = 0;
  for (size_t i = 0; i < common; ++i) gap = std::max(gap, std::abs((*treated.series)[i] - (*baseline.series)[i]));
  return {gap};
}

/// A positive operand; the worst of a rate is 0.
double operand(const Reading& reading) { return *reading.value == -kInfinity ? 0.0 : *reading.value; }

Reading divide(const Reading& numerator, const Reading& denominator) {
  if (!numerator.value) return numerator;
  if (!denominator.value) return denominator;
  const bool timed_out = numerator.timed_out || denominator.timed_out;
  if (*denominator.value == 0 && !timed_out) return {std::nullopt, false, because({Reason::DivisionByZero})};
  return make(operand(numerator) / operand(denominator), timed_out);
}

Reading ratio(const Reading& numerator, const Reading& denominator) {
  for (const Reading* side : {&numerator, &denominator}) {
    if (!side->value) return *side;
    const bool usable = operand(*side) > 0 || (operand(*side) == 0 && side == &numerator);
    if (!usable && !side->timed_out) return {std::nullopt, false, because({Reason::NotPositive})};
  }
  return divide(numerator, denominator);
}

struct Evaluator {
  const Lookup& lookup;
  const llvm::json::Object* parameters;

  Reading operator()(const ConstantTerm& term) const { return make(term.value, false); }
  Reading operator()(const MetricTerm& term) const {
    Reading reading = lookup(term);
    if (reading.value && std::isnan(*reading.value))
      return {std::nullopt, false, because({.code = Reason::NotANumber, .name = term.metric})};
    return reading;
  }
  Reading operator()(const OperationTerm& term) const {
    using Op = OperationTerm::Op;
    Reading result = std::visit(*this, term.operands[0]->node);
    for (size_t i = 1; i < term.operands.size(); ++i) {
      const Reading next = std::visit(*this, term.operands[i]->node);
      result = term.op == Op::Quotient ? divide(result, next)
               : term.op == Op::Ratio  ? ratio(result, next)
                                       : combined(term.op, result, next);
    }
    return result;
  }
  Reading operator()(const FirstTerm& term) const { return firstOf(term, lookup(term.series)); }
  Reading operator()(const GapTerm& term) const { return gapOf(term, lookup(term.treated), lookup(term.baseline)); }
  Reading operator()(const ScaleTerm& term) const {
    const Reading inner = std::visit(*this, term.term->node);
    return inner.value ? make(term.factor * *inner.value, inner.timed_out) : inner;
  }
  Reading operator()(const ParameterTerm& term) const {
    const auto value = parameters ? parameters->getNumber(term.parameter) : std::nullopt;
    return value ? make(*value, false)
                 : Reading{std::nullopt, false, because({.code = Reason::NoParameter, .name = term.parameter})};
  }
};

}  // namespace

void forEachTerm(const Term& term, llvm::function_ref<void(const Term&)> visit) {
  visit(term);
  if (const auto* operation = std::get_if<OperationTerm>(&term.node))
    for (const TermPtr& operand : operation->operands) forEachTerm(*operand, visit);
  else if (const auto* scale = std::get_if<ScaleTerm>(&term.node))
    forEachTerm(*scale->term, visit);
}

std::vector<MetricTerm> metricTerms(const Term& term) {
  std::vector<MetricTerm> found;
  forEachTerm(term, [&](const Term& one) {
    if (const auto* metric = std::get_if<MetricTerm>(&one.node)) found.push_back(*metric);
    if (const auto* first = std::get_if<FirstTerm>(&one.node)) found.push_back(first->series);
    if (const auto* gap = std::get_if<GapTerm>(&one.node)) found.insert(found.end(), {gap->treated, gap->baseline});
  });
  return found;
}

/// Adds what a metric of a place is computed from, or itself.
static void addMeasured(const Plan& plan, const MetricTerm& term, std::vector<MetricTerm>& found) {
  const Metric* declared = plan.findMetric(term.metric);
  if (!declared || !declared->derived) return found.push_back(term);
  for (const MetricTerm& part : metricTerms(*declared->derived)) addMeasured(plan, {part.metric, term.place}, found);
}

std::vector<MetricTerm> measuredTerms(const Plan& plan, const Term& term) {
  std::vector<MetricTerm> found;
  for (const MetricTerm& one : metricTerms(term)) addMeasured(plan, one, found);
  return found;
}

std::string subjectOf(const Plan& plan, const Cell& cell, const std::map<std::string, std::string>& ids) {
  std::set<std::string> read;
  for (const MetricTerm& term : measuredTerms(plan, *cell.term)) {
    const auto other = ids.find(term.place.point);
    read.insert(term.metric + ' ' + (other == ids.end() ? term.place.point : other->second) + ' ' + term.place.control);
  }
  std::string text(toString(cell.kind));
  for (const std::string& one : read) text += '\n' + one;
  return shortHash(text);
}

Reading evaluate(const Term& term, const Lookup& lookup, const llvm::json::Object* parameters) {
  return std::visit(Evaluator{lookup, parameters}, term.node);
}

bool satisfies(const Bound& bound, double low, double high) {
  const Range range = rangeOf(bound);
  return (!range.low || (range.open ? above(low, *range.low) : atLeast(low, *range.low))) &&
         (!range.high || !(range.open ? atLeast(high, *range.high) : above(high, *range.high)));
}

bool violates(const Bound& bound, double low, double high) {
  const Range range = rangeOf(bound);
  return (range.low && !(range.open ? above(high, *range.low) : atLeast(high, *range.low))) ||
         (range.high && (range.open ? atLeast(low, *range.high) : above(low, *range.high)));
}

double margin(const Bound& bound, double low, double high) {
  const Range range = rangeOf(bound);
  return std::min(range.low ? low - *range.low : INFINITY, range.high ? *range.high - high : INFINITY);
}

}  // namespace expc::plan
