#include "runtime/plan/evaluate.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <set>
#include <string>

#include "runtime/base/format.h"
#include "runtime/base/hash.h"
#include "runtime/base/json.h"
#include "runtime/plan/sketch.h"

namespace expc::plan {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Comparisons that forgive rounding. An equal number is never "above", and always "at least".
double slack(double end) { return 1e-12 * std::abs(end); }
bool atLeast(double value, double end) { return value >= end - slack(end); }
bool above(double value, double end) { return value > end + slack(end); }

/// The ends that values must stay within; `open`: the ends themselves are excluded.
struct Range {
  std::optional<double> low, high;
  bool open = false;
};

/// The range of values that satisfy a bound.
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

/// No value, for one reason.
Reading none(Reason reason, Worst worst = {}) { return {std::nullopt, worst, because(std::move(reason))}; }

/// No value, since neither of two is better than the other.
Reading bothWorst(Worst worst) {
  return none({.code = Reason::BothWorst, .numbers = {double(worst.timed_out), double(worst.diverged)}}, worst);
}

/// A reading of `value`. NaN comes of infinities that cannot be compared, so it becomes a reason.
Reading make(double value, Worst worst) {
  if (!std::isnan(value)) return {value, worst};
  const bool never = worst.never && !worst.timed_out && !worst.diverged;
  return never ? none({Reason::NeitherReached}, worst) : bothWorst(worst);
}

/// Applies an operation other than a quotient to two operands. Infinities of different sign cannot be weighed
/// against each other, so they give no value.
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
  const Worst worst = left.worst | right.worst;
  if (std::isnan(value)) return bothWorst(worst);
  return {value, worst};
}

/// No reading, with the reason why a series is missing.
Reading noSeries(const Reading& reading, const std::string& metric) {
  return {std::nullopt, {}, reading.why ? reading.why : because({.code = Reason::NoSeries, .name = metric})};
}

/// A trial that timed out has no series, and ranks as if it never reached the bound.
Reading firstOf(const FirstTerm& term, const Reading& reading) {
  if (reading.worst.timed_out) return {kInfinity, reading.worst};
  if (!reading.series) return noSeries(reading, term.series.metric);
  const std::vector<double>& values = *reading.series;
  const auto found = std::ranges::find_if(
      values, [&](double value) { return std::isfinite(value) && satisfies(term.bound, value, value); });
  if (found == values.end()) return {kInfinity, Worst{.never = true}};
  return {double(found - values.begin() + 1)};
}

/// The largest distance between two series, as far as both go: a shorter one ended early, and what it lacks is not
/// compared.
Reading gapOf(const GapTerm& term, const Reading& treated, const Reading& baseline) {
  if (treated.worst.timed_out || baseline.worst.timed_out) return {kInfinity, treated.worst | baseline.worst};
  for (const Reading* side : {&treated, &baseline})
    if (!side->series) return noSeries(*side, term.treated.metric);
  const size_t common = std::min(treated.series->size(), baseline.series->size());
  if (common == 0) return none({.code = Reason::NoCommonPlace, .name = term.treated.metric});
  double gap = 0;
  constexpr Worst kDiverged{.diverged = true};
  // A gap to a value that diverged is infinite; if both diverged at one position, nothing compares them.
  for (size_t i = 0; i < common; ++i) {
    const double left = (*treated.series)[i], right = (*baseline.series)[i];
    if (!std::isfinite(left) && !std::isfinite(right)) return bothWorst(kDiverged);
    gap = std::max(gap, std::isfinite(left) && std::isfinite(right) ? std::abs(left - right) : kInfinity);
  }
  return {gap, gap == kInfinity ? kDiverged : Worst()};
}

Reading reductionOf(const ReduceTerm& term, const Reading& reading) {
  if (reading.worst.timed_out) return {reading.value, reading.worst, reading.why};
  if (!reading.series) return noSeries(reading, term.series.metric);
  const std::optional<double> value =
      reading.sketch ? reducedSketch(*reading.series, term.reduction) : reduced(*reading.series, term.reduction);
  if (!value)
    return none(
        {.code = Reason::SeriesTooShort, .name = term.series.metric, .numbers = {double(reading.series->size())}});
  return std::isfinite(*value) ? Reading{value} : Reading{kInfinity, Worst{.diverged = true}};
}

/// An operand of a quotient, which is positive; the worst value of a rate (-inf) counts as 0.
double operand(const Reading& reading) { return *reading.value == -kInfinity ? 0.0 : *reading.value; }

Reading divide(const Reading& numerator, const Reading& denominator) {
  if (!numerator.value) return numerator;
  if (!denominator.value) return denominator;
  const Worst worst = numerator.worst | denominator.worst;
  // A denominator of 0 that is a rate's worst value gives infinity: the other side is better beyond measure.
  if (*denominator.value == 0 && !worst) return none({Reason::DivisionByZero});
  return make(operand(numerator) / operand(denominator), worst);
}

/// A ratio compares two values above zero, unlike a quotient, which only needs a divisor other than 0.
Reading ratio(const Reading& numerator, const Reading& denominator) {
  for (const Reading* side : {&numerator, &denominator}) {
    if (!side->value) return *side;
    if (!isAboveZero(*side)) return none({Reason::NotPositive});
  }
  return divide(numerator, denominator);
}

/// The parts of an aggregate as one number. The worst rate counts as 0, as in ratios.
double aggregated(AggregateTerm::Function function, std::vector<double> values, const std::vector<double>& weights) {
  using enum AggregateTerm::Function;
  if (function == Min) return *std::ranges::min_element(values);
  if (function == Max) return *std::ranges::max_element(values);
  if (function == Median) {
    std::ranges::sort(values);
    const size_t middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : std::midpoint(values[middle - 1], values[middle]);
  }
  double sum = 0, weight = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double own = weights.empty() ? 1 : weights[i];
    sum += own * (function == Geomean ? std::log(values[i]) : values[i]);
    weight += own;
  }
  return function == Sum ? sum : function == Mean ? sum / weight : std::exp(sum / weight);
}

/// Visits the kinds of term; the first part without a value decides the result.
struct Evaluator {
  const Lookup& lookup;
  const json::Object* parameters;

  Reading operator()(const ConstantTerm& term) const { return make(term.value, {}); }
  Reading operator()(const MetricTerm& term) const {
    Reading reading = lookup(term);
    if (reading.value && std::isnan(*reading.value)) return none({.code = Reason::NotANumber, .name = term.metric});
    return reading;
  }
  Reading operator()(const OperationTerm& term) const {
    // Operands are combined from left to right; validation has limited quotients and ratios to two.
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
  Reading operator()(const ReduceTerm& term) const { return reductionOf(term, lookup(term.series)); }
  Reading operator()(const AbsentTerm& term) const {
    Reading inner = std::visit(*this, term.term->node);
    if (inner.value) return make(0, {});
    const Reason::Code why = inner.why ? origin(*inner.why).code : Reason::Said;
    const bool absent = why == Reason::NotInTrials || why == Reason::NotInOutput || why == Reason::NotOnDevice;
    return absent ? make(1, {}) : inner;
  }
  Reading operator()(const GapTerm& term) const { return gapOf(term, lookup(term.treated), lookup(term.baseline)); }
  Reading operator()(const ScaleTerm& term) const {
    const Reading inner = std::visit(*this, term.term->node);
    return inner.value ? make(term.factor * *inner.value, inner.worst) : inner;
  }
  Reading operator()(const AggregateTerm& term) const {
    const bool geometric = term.function == AggregateTerm::Function::Geomean;
    std::vector<double> values, weights;
    Worst worst;
    for (const TermPtr& part : term.parts) {
      const Reading reading = std::visit(*this, part->node);
      if (!reading.value) return reading;
      if (geometric && !isAboveZero(reading)) return none({Reason::NotPositive});
      values.push_back(geometric ? operand(reading) : *reading.value);
      worst |= reading.worst;
    }
    for (const TermPtr& part : term.weights) {
      const Reading weight = std::visit(*this, part->node);
      if (!weight.value) return weight;
      if (!(*weight.value > 0) || std::isinf(*weight.value)) return none({Reason::NotPositive});
      weights.push_back(*weight.value);
    }
    return make(aggregated(term.function, std::move(values), weights), worst);
  }
  Reading operator()(const ParameterTerm& term) const {
    const auto value = parameters ? parameters->getNumber(term.parameter) : std::nullopt;
    return value ? make(*value, {}) : none({.code = Reason::NoParameter, .name = term.parameter});
  }
};

}  // namespace

uint64_t taken(uint64_t count, const Reduction& reduction) {
  count -= std::min(count, reduction.skip);
  for (const uint64_t most : {reduction.first, reduction.last})
    if (most > 0) count = std::min(count, most);
  return count;
}

std::span<double> takenOf(std::span<double> values, const Reduction& reduction) {
  const size_t count = taken(values.size(), reduction);
  return reduction.last > 0
             ? values.last(count)
             : values.last(values.size() - std::min<uint64_t>(values.size(), reduction.skip)).first(count);
}

std::optional<double> reduced(std::vector<double> values, const Reduction& reduction) {
  using Take = Reduction::Take;
  const std::span<double> chosen = takenOf(values, reduction);
  const size_t count = chosen.size();
  if (reduction.take == Take::Count) return double(count);
  if (count == 0) return std::nullopt;
  const auto begin = chosen.begin(), end = chosen.end();
  if (reduction.take == Take::Last) return end[-1];
  if (!std::all_of(begin, end, [](double value) { return std::isfinite(value); })) return std::nan("");
  // Values are sorted, so that a sum does not depend on the order in which a program writes.
  std::sort(begin, end);
  const double sum = std::accumulate(begin, end, 0.0);
  switch (reduction.take) {
    case Take::Mean:
      return sum / double(count);
    case Take::Min:
      return *begin;
    case Take::Max:
      return end[-1];
    case Take::Sum:
      return sum;
    default:
      break;
  }
  const double share = reduction.take == Take::Median ? 0.5 : reduction.percentile / 100;
  const double place = share * double(count - 1);
  const auto low = begin + ptrdiff_t(place);
  const double high = low + 1 == end ? *low : low[1];
  return *low + (place - std::floor(place)) * (high - *low);
}

uint64_t leastValues(const Reduction& reduction) {
  if (reduction.take != Reduction::Take::Percentile) return 1;
  const double beyond = std::min(reduction.percentile, 100 - reduction.percentile) / 100;
  // The subtraction above leaves 99.9 a rounding away from one in a thousand.
  return uint64_t(std::ceil(1 / beyond * (1 - 1e-9)));
}

std::optional<Note> fewValues(const std::string& metric, uint64_t count, const Reduction& reduction) {
  const uint64_t least = leastValues(reduction);
  if (least == 1 || taken(count, reduction) >= least) return std::nullopt;
  return Note(Note::FewValues, metric, double(least), toString(reduction));
}

std::string toString(const Reduction& reduction) {
  return reduction.take == Reduction::Take::Percentile ? fmt::format("p{}", reduction.percentile)
                                                       : std::string(base::wordOf(words::kTake, reduction.take));
}

void forEachTerm(const Term& term, function_ref<void(const Term&)> visit) {
  visit(term);
  if (const auto* operation = term.as<OperationTerm>())
    for (const TermPtr& operand : operation->operands) forEachTerm(*operand, visit);
  else if (const auto* scale = term.as<ScaleTerm>())
    forEachTerm(*scale->term, visit);
  else if (const auto* absent = term.as<AbsentTerm>())
    forEachTerm(*absent->term, visit);
  else if (const auto* aggregate = term.as<AggregateTerm>())
    for (const std::vector<TermPtr>* inner : {&aggregate->parts, &aggregate->weights})
      for (const TermPtr& one : *inner) forEachTerm(*one, visit);
}

bool isPaired(const Cell& cell) {
  if (cell.points.size() < 2 || !cell.term) return cell.points.size() > 1;
  bool compares = false;
  forEachTerm(*cell.term, [&](const Term& one) {
    compares |= !one.as<AggregateTerm>() && !one.as<MetricTerm>() && !one.as<ConstantTerm>();
  });
  return compares;
}

std::vector<MetricTerm> metricTerms(const Term& term) {
  std::vector<MetricTerm> found;
  forEachTerm(term, [&](const Term& one) {
    if (const auto* metric = one.as<MetricTerm>()) found.push_back(*metric);
    if (const auto* first = one.as<FirstTerm>()) found.push_back(first->series);
    if (const auto* reduced = one.as<ReduceTerm>()) found.push_back(reduced->series);
    if (const auto* gap = one.as<GapTerm>()) found.insert(found.end(), {gap->treated, gap->baseline});
  });
  return found;
}

/// Adds the measured metrics behind a metric of a place. Derived metrics may read derived ones.
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
  // A set: the order in which a term reads its metrics does not change what it is about.
  std::set<std::string> read;
  for (const MetricTerm& term : measuredTerms(plan, *cell.term)) {
    const auto other = ids.find(term.place.point);
    read.insert(term.metric + ' ' + (other == ids.end() ? term.place.point : other->second) + ' ' + term.place.control);
  }
  std::string text(toString(cell.kind));
  for (const std::string& one : read) text += '\n' + one;
  return base::shortHash(text);
}

Reading evaluate(const Term& term, const Lookup& lookup, const json::Object* parameters) {
  return std::visit(Evaluator{lookup, parameters}, term.node);
}

/// The interval is closed, so its worst end decides.
bool satisfies(const Bound& bound, double low, double high) {
  const Range range = rangeOf(bound);
  return (!range.low || (range.open ? above(low, *range.low) : atLeast(low, *range.low))) &&
         (!range.high || !(range.open ? atLeast(high, *range.high) : above(high, *range.high)));
}

/// Here the best end decides: no value of the interval satisfies the bound.
bool violates(const Bound& bound, double low, double high) {
  const Range range = rangeOf(bound);
  return (range.low && !(range.open ? above(high, *range.low) : atLeast(high, *range.low))) ||
         (range.high && (range.open ? atLeast(low, *range.high) : above(low, *range.high)));
}

bool isComposed(const Criterion& criterion) {
  const auto counts = [](const auto& self, const Claim& claim) -> bool {
    return claim.kind == Claim::Kind::AtLeast ||
           std::ranges::any_of(claim.children, [&](const Claim& child) { return self(self, child); });
  };
  return !criterion.assertions.empty() || counts(counts, criterion.claim);
}

double margin(const Bound& bound, double low, double high) {
  const Range range = rangeOf(bound);
  return std::min(range.low ? low - *range.low : INFINITY, range.high ? *range.high - high : INFINITY);
}

}  // namespace expc::plan
