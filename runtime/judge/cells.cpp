#include "runtime/judge/cells.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <span>

#include "runtime/base/entry.h"
#include "runtime/base/find.h"
#include "runtime/judge/readings.h"
#include "runtime/plan/evaluate.h"
#include "runtime/plan/labels.h"
#include "runtime/stats/design.h"
#include "runtime/stats/estimators.h"
#include "runtime/stats/nested_intervals.h"
#include "runtime/stats/serial.h"

namespace expc::judge {

using plan::Reason;
using plan::Why;

struct ComparisonValues {
  std::span<const plan::Cell> of;
  std::vector<BlockValues> cells;
};

namespace {

stats::Pairing pairingOf(const plan::Cell& cell) {
  return plan::isPaired(cell) ? stats::Pairing::Paired : stats::Pairing::Alone;
}

double onScale(const plan::Cell& cell, double value) {
  return cell.estimator == Estimator::PairedRatio ? std::log(value) : value;
}

/// Whether values of the metric are read from a clock, which has steps: zero is one of its readings.
bool isTimed(const Metric& metric) { return metric.unit == "s" || metric.unit.ends_with("/s"); }

/// The range of a cell of one metric, or of an average or sum of some; everything for other cells.
Range rangeOf(const Evidence& evidence, const plan::Cell& cell) {
  const auto* sum = cell.term->as<plan::AggregateTerm>();
  Range range;
  if (const auto* term = cell.term->as<MetricTerm>()) return evidence.of(term->metric).range;
  if (sum && std::ranges::all_of(sum->parts, [&](const plan::TermPtr& part) {
        const auto* term = part->as<MetricTerm>();
        return term && evidence.of(term->metric).range.low >= 0;
      }))
    range.low = 0;
  return range;
}

/// The distance at which a metric can be read, as far as few different readings show it.
struct ClockStep {
  double reach = 0;  // what one makes of the cell's value, on its scale
  ClockSteps seen = {};
};

/// How many readings the cell's value adds up, each with an error of its own.
size_t addedIn(const plan::Cell& cell) {
  size_t most = 1;
  forEachTerm(*cell.term, [&](const plan::Term& term) {
    const auto* aggregate = term.as<plan::AggregateTerm>();
    if (aggregate && aggregate->function == plan::AggregateTerm::Function::Sum)
      most = std::max(most, aggregate->parts.size());
  });
  return most;
}

/// The coarsest decimal clock that can have shown the readings: the largest power of ten that all are multiples of.
double decimalStep(const std::set<double>& readings) {
  double step = std::pow(10, std::floor(std::log10(*readings.rbegin())));
  const auto isMultiple = [&](double reading) {
    const double steps = reading / step;
    return std::abs(steps - std::round(steps)) <= 1e-9 * std::max(1.0, std::abs(steps));
  };
  while (step > 1e-12 && !std::ranges::all_of(readings, isMultiple)) step /= 10;
  return step;
}

/// Whether a place gave few different readings, and some of them again.
bool isCoarse(const Readings& readings) {
  constexpr size_t kFew = 3;
  std::vector<double> different;
  for (const double value : readings.values)
    if (base::addOnce(different, value); different.size() > kFew) return false;
  return different.size() < readings.values.size();
}

/// The largest step among the metrics of the cell that a place gave few different readings of: what lies between two
/// readings cannot be told apart. Different readings of one place are at least a step apart. A place that gave one
/// alone has its digits to tell: those of all places that gave few, since what these lie apart is what is asked about.
/// Places that gave many say nothing of it, since their clock is a finer one.
ClockStep stepOf(const Plan& plan, const plan::Cell& cell, const std::vector<Readings>& readings) {
  ClockStep largest;
  for (const Readings& coarse : readings) {
    const Metric* metric = plan.findMetric(coarse.of->metric);
    if (!metric || metric->exact || !isCoarse(coarse)) continue;
    const std::set<double> own(coarse.values.begin(), coarse.values.end());
    std::set<double> seen = own, all = own;
    for (const Readings& one : readings) {
      if (one.of->metric != coarse.of->metric) continue;
      all.insert(one.values.begin(), one.values.end());
      if (own.size() == 1 && isCoarse(one)) seen.insert(one.values.begin(), one.values.end());
    }
    if (isTimed(*metric)) seen.insert(0), all.insert(0);
    if (all.size() < 2 || *seen.rbegin() <= 0) continue;
    double step = INFINITY;
    for (auto at = seen.begin(); std::next(at) != seen.end(); ++at) step = std::min(step, *std::next(at) - *at);
    if (own.size() == 1) step = std::min(step, decimalStep(seen));
    const double reach =
        cell.estimator == Estimator::PairedRatio ? std::log1p(step / *own.begin()) : double(addedIn(cell)) * step;
    if (!std::isfinite(reach) || reach <= largest.reach) continue;
    largest = {reach, {metric->name, own.size(), step}};
  }
  return largest;
}

/// The values on the scale on which they are estimated.
std::vector<double> scaledValues(const plan::Cell& cell, const BlockValues& values) {
  std::vector<double> scaled = values.values;
  for (double& value : scaled) value = onScale(cell, value);
  return scaled;
}

/// The largest correlation of the metrics that a cell of one point reads.
double ofMetrics(const Evidence& evidence, const plan::Cell& cell) {
  double largest = 0;
  for (const MetricTerm& term : metricTerms(*cell.term))
    largest = std::max(largest, evidence.of(term.metric).correlation);
  return largest;
}

/// Paired values take the signed rank, on the scale on which they are symmetric if the noise of both members has one
/// shape. Values of one point take the median. The estimand depends on the cell alone and never on its values. Both
/// intervals are widened for serial correlation, and contain Student's interval of the session means where sessions
/// differ.
stats::NestedIntervals intervalsOf(const Evidence& evidence, const plan::Cell& cell, const BlockValues& values,
                                   double correlation, MeasuredCell& result) {
  CellEstimate& estimate = result.estimate;
  const std::vector<double> scaled = scaledValues(cell, values);
  estimate.spreads = stats::spreads(scaled, values.sessions, pairingOf(cell));
  estimate.correlation = correlation;
  estimate.worth = double(scaled.size()) / stats::inflationOf(estimate.correlation, values.sessions);
  estimate.trend = estimate.correlation > 0 ? stats::trendOf(scaled, values.sessions) : 0;
  stats::NestedIntervals intervals =
      cell.estimator == Estimator::Median ? stats::orderStatistics(scaled) : stats::signedRank(scaled);
  if (estimate.trend != 0) intervals = intervals.estimateAlone();
  const Range range = cell.estimator == Estimator::Median ? rangeOf(evidence, cell) : Range{-INFINITY, INFINITY};
  intervals = stats::widened(intervals, estimate.correlation, values.sessions, range.scale());
  if (estimate.spreads) intervals = estimate.spreads->allowFor(intervals);
  const ClockStep step = stepOf(evidence.index.plan(), cell, values.readings);
  if (step.reach > 0 && intervals.estimate()) {
    const double centre = *intervals.estimate();
    estimate.steps = step.seen;
    result.step = step.reach;
    intervals = intervals.reaching([=](double) { return std::pair(centre - step.reach, centre + step.reach); });
  }
  if (cell.estimator != Estimator::PairedRatio) return range.limit(intervals);
  return intervals.mapped([](double log) { return std::exp(log); });
}

/// The reach of an interval that tells nothing: a ratio that may be twice as large or half, a value that may be zero.
double mostReach(const plan::Cell& cell, const CellEstimate& estimate) {
  return cell.estimator == Estimator::PairedRatio ? std::log(2) : std::abs(*estimate.estimate);
}

/// Whether sessions differ so much that the interval tells nothing: two sessions of pairs have none, and others are
/// very wide and, of a ratio, hold 1. A difference has no scale for this.
bool sessionsTellNothing(const plan::Cell& cell, const CellEstimate& estimate) {
  if (!estimate.spreads || !estimate.spreads->apart || !estimate.estimate) return false;
  if (std::isinf(estimate.spreads->stretch)) return true;
  if (!estimate.interval || cell.estimator == Estimator::PairedDifference) return false;
  const double centre = onScale(cell, *estimate.estimate);
  const double low = onScale(cell, estimate.interval->low), high = onScale(cell, estimate.interval->high);
  const bool has_direction = cell.estimator == Estimator::PairedRatio && (low > 0 || high < 0);
  return !has_direction && std::max(high - centre, centre - low) > mostReach(cell, estimate);
}

/// The number of sessions with which an interval would tell something, if they keep scattering like that.
double neededSessions(const plan::Cell& cell, const CellEstimate& estimate, double confidence) {
  const stats::CentreOfMeans& mean = estimate.spreads->mean;
  const double between = mean.error * std::sqrt(mean.freedoms + 1);
  return stats::sessionsFor(between, mostReach(cell, estimate), 1 - confidence);
}

/// Sets the state from what is known of the cell's points alone; Measured if nothing speaks against it.
void judgePoints(const Evidence& evidence, const plan::Cell& cell, MeasuredCell& result) {
  const auto set = [&](CellState state, Reason reason) {
    result.estimate.state = state;
    result.estimate.why = because(std::move(reason));
  };
  result.estimate.state = CellState::Measured;
  for (size_t i = 0; i < cell.points.size(); ++i) {
    const PlaceOutcomes& outcomes = evidence.index.of(cell.kind, cell.points[i]);
    const bool treated = i < cell.treated;
    const unsigned blocks = outcomes.infeasible;
    const auto of = [&](Reason::Code code, std::vector<double> numbers, const std::string& said) {
      return about(evidence.index, cell.points[i], code, std::move(numbers), brief(said));
    };
    if (outcomes.outcomes.empty()) return set(CellState::NotRun, whyNotRun(evidence.index, cell.points[i]));
    if (outcomes.ended == 0 && outcomes.failed > 0 && blocks < kInfeasibleBlocks)
      return set(CellState::Broken, of(Reason::Failed, {}, outcomes.last_reason));
    if (blocks >= kInfeasibleBlocks)
      return set(treated ? CellState::Infeasible : CellState::NoBaseline,
                 of(treated ? Reason::RanOutIn : Reason::NoBaseline, {double(blocks)}, outcomes.memory_reason));
    if (treated && blocks > 0 && outcomes.valid > 0)
      return set(CellState::Unstable,
                 of(Reason::Unstable, {double(blocks), double(outcomes.outcomes.size())}, outcomes.memory_reason));
  }
}

}  // namespace

stats::NestedIntervals Range::limit(const stats::NestedIntervals& intervals) const {
  if (low == -INFINITY && high == INFINITY) return intervals;
  return intervals.mapped([range = *this](double value) {
    return std::isfinite(value) ? std::clamp(value, range.low, range.high) : value;
  });
}

bool isExact(const Plan& plan, const plan::Term& term) {
  const std::vector<MetricTerm> metrics = metricTerms(term);
  return !metrics.empty() && std::ranges::all_of(metrics, [&](const MetricTerm& metric) {
    const Metric* declared = plan.findMetric(metric.metric);
    return declared && declared->exact;
  });
}

unsigned plannedOf(const KindDesign& design, unsigned complete) {
  return std::clamp(complete, design.repeat, design.most());
}

bool Evidence::wants(TrialKind kind, const Place& place) const {
  const std::vector<bool>& numbers = wanted[size_t(kind)];
  const std::optional<unsigned> number = index.number(place);
  return number && *number < numbers.size() && numbers[*number];
}

/// The part that a point's sample has of the samples of its process.
static double weightOf(const Index& index, const std::string& point) {
  const std::optional<unsigned> number = index.number({point});
  const size_t rows = number ? index.rowsOf(index.starts(*number)).size() : 0;
  return 1 / double(std::max<size_t>(1, rows));
}

const Evidence::OfMetric& Evidence::of(const std::string& metric) const {
  const auto [known, fresh] = metrics.try_emplace(metric);
  const Metric* declared = index.plan().findMetric(metric);
  if (!fresh || !declared) return known->second;
  stats::SerialCorrelation all;
  Range seen{INFINITY, -INFINITY};
  for (const Point& point : index.plan().points) {
    std::vector<double> values;
    std::vector<int64_t> sessions;
    for (const PointValue& value : valuesAt(index, *declared, point)) {
      values.push_back(value.value);
      sessions.push_back(value.session);
      seen = {std::min(seen.low, value.value), std::max(seen.high, value.value)};
    }
    if (!values.empty()) all.add(values, sessions, declared->of_process ? 1 : weightOf(index, point.id));
  }
  for (const Criterion& criterion : index.plan().criteria)
    for (const plan::Cell& cell : criterion.cells)
      if (cell.estimator == Estimator::Median && isEstimated(criterion, cell) &&
          std::ranges::any_of(metricTerms(*cell.term), [&](const auto& term) { return term.metric == metric; }))
        for (const double end : ends(plan::boundOf(criterion, cell)))
          seen = {std::min(seen.low, end > 0 ? end : -1), std::max(seen.high, end < 1 ? end : 2)};
  OfMetric& own = known->second;
  own.correlation = all.atMost(stats::Pairing::Alone);
  if (seen.low >= 0) own.range.low = 0;
  if (declared->dimension == "share" && seen.high <= 1) own.range.high = 1;
  return own;
}

/// Whether both read the same points by the same operations; unsure of terms that no comparison of two points has.
static bool isSame(const plan::Term& one, const plan::Term& other) {
  const auto *metric = one.as<MetricTerm>(), *also = other.as<MetricTerm>();
  if (metric && also) return metric->metric == also->metric && metric->place == also->place;
  const auto *operation = one.as<plan::OperationTerm>(), *same = other.as<plan::OperationTerm>();
  return operation && same && operation->op == same->op &&
         std::ranges::equal(operation->operands, same->operands,
                            [](const plan::TermPtr& a, const plan::TermPtr& b) { return isSame(*a, *b); });
}

std::pair<double, const BlockValues*> Evidence::correlation(const plan::Cell& cell) const {
  const auto subjectOf = [&](const plan::Cell& one) {
    std::string subject = std::to_string(int(one.estimator)) + plan::subjectOf(index.plan(), one);
    forEachTerm(*one.term, [&](const plan::Term& part) {
      if (const auto* aggregate = part.as<plan::AggregateTerm>())
        subject += ":" + std::to_string(int(aggregate->function));
    });
    return subject;
  };
  if (compared.empty())
    for (const Comparison& comparison : index.plan().comparisons)
      for (size_t i = 0; i < comparison.cells.size(); ++i)
        if (comparison.cells[i].term) compared.try_emplace(subjectOf(comparison.cells[i]), &comparison, i);
  const auto [comparison, at] = valueIn(compared, subjectOf(cell)).value_or(std::pair<const Comparison*, size_t>());
  const std::span cells = comparison ? std::span(comparison->cells) : std::span(&cell, 1);
  const auto valuesOf = [&, at = at]() -> const BlockValues* {
    const bool same = &cells[at] == &cell || isSame(*cells[at].term, *cell.term);
    return same && read && read->of.data() == cells.data() ? &read->cells[at] : nullptr;
  };
  if (const auto* known = entryOf(of_pairs, comparison); comparison && known) return {*known, valuesOf()};
  auto values = std::make_shared<ComparisonValues>(ComparisonValues{cells, {}});
  stats::SerialCorrelation all;
  std::map<unsigned, double> beside;  // cells of a process
  std::vector<unsigned> processes;
  for (const plan::Cell& one : cells)
    ++beside[processes.emplace_back(index.starts(index.number(one.points.front()).value_or(0)))];
  for (size_t i = 0; i < cells.size(); ++i) {
    const BlockValues& own = values->cells.emplace_back(cells[i].term ? blockValues(index, cells[i]) : BlockValues{});
    if (!own.values.empty()) all.add(scaledValues(cells[i], own), own.sessions, 1 / beside[processes[i]]);
  }
  const double correlation = all.atMost(pairingOf(cell));
  read = std::move(values);
  if (comparison) of_pairs[comparison] = correlation;
  return {correlation, valuesOf()};
}

bool Evidence::wantsAny() const {
  return std::any_of(std::begin(wanted), std::end(wanted),
                     [](const std::vector<bool>& places) { return is_contained(places, true); });
}

bool repetitionsAdapt(const Plan& plan, TrialKind kind) {
  const KindDesign* design = plan::designOf(plan, kind);
  return design && !design->until.empty();
}

bool stoppedByWidth(const Index& index, TrialKind kind, const std::vector<int64_t>& runs) {
  const auto adapted = [&](const store::PastLook& look) {
    if (!look.judged) return true;
    const auto* planned = entryOf(look.judged->planned, kind);
    return planned && planned->adaptive.value_or(true);
  };
  return repetitionsAdapt(index.plan(), kind) || std::ranges::any_of(index.looks(), [&](const store::PastLook& look) {
           return adapted(look) && is_contained(runs, look.run);
         });
}

MeasuredCell measure(const Evidence& evidence, const plan::Cell& cell, double confidence, Arms arms) {
  MeasuredCell result;
  const bool tried = !evidence.index.of(cell.kind, cell.points.front()).outcomes.empty();
  const auto [correlation, read] =
      tried && cell.points.size() > 1 ? evidence.correlation(cell) : std::pair<double, const BlockValues*>();
  const BlockValues* stored = arms == Arms::AsNamed ? read : nullptr;
  const BlockValues own = stored ? BlockValues{} : blockValues(evidence.index, cell, arms);
  const BlockValues& values = stored ? *stored : own;
  const Plan& plan = evidence.index.plan();
  Scope& scope = result.estimate.scope;
  scope.complete = values.values.size();
  if (const KindDesign* design = plan::designOf(plan, cell.kind)) scope.planned = plannedOf(*design, scope.complete);
  scope.lost = values.lost;
  const std::set<int64_t> sessions(values.sessions.begin(), values.sessions.end());
  scope.sessions = sessions.size();
  scope.nodes = evidence.index.nodes(cell, sessions).size();

  result.stopped_by_width = stoppedByWidth(evidence.index, cell.kind, values.runs);
  result.estimate.unfinished =
      (scope.complete < scope.planned || repetitionsAdapt(plan, cell.kind)) &&
      std::ranges::any_of(cell.points, [&](const Place& place) { return evidence.wants(cell.kind, place); });
  result.estimate.values = values.values;
  result.estimate.worst = values.worst;
  result.estimate.diverged = values.diverged;
  if (values.unused > 0)
    result.estimate.unusable = plan::because({.code = Reason::Unusable,
                                              .numbers = {double(values.unused)},
                                              .pairs = plan::isPaired(cell),
                                              .because = values.why_unused});
  result.runs = values.runs;
  result.loss = values.lost > 0 ? values.why_lost : values.apart;
  judgePoints(evidence, cell, result);
  if (values.values.empty()) {
    if (result.estimate.state == CellState::Measured) {
      result.estimate.state = CellState::Lost;
      result.estimate.why = result.loss;
    }
    return result;
  }
  const bool exact = isExact(plan, *cell.term) || isAbsence(cell);
  // One value says nothing of whether it varies.
  const bool constant = result.estimate.constant =
      exact && values.values.size() > 1 && std::isfinite(values.values.front()) &&
      std::equal(values.values.begin() + 1, values.values.end(), values.values.begin());
  result.intervals = constant ? stats::NestedIntervals::exactly(values.values.front())
                              : intervalsOf(evidence, cell, values,
                                            cell.points.size() > 1 ? correlation : ofMetrics(evidence, cell), result);
  if (result.stopped_by_width && !constant) result.intervals = result.intervals.afterWidthStop();
  result.estimate.estimate = result.intervals.estimate();
  readAt(plan, cell, 1 - confidence, {}, result);
  return result;
}

std::optional<stats::NestedIntervals> intervalsAfter(const Evidence& evidence, const plan::Cell& cell,
                                                     const MeasuredCell& measured, unsigned values) {
  const CellEstimate& now = measured.estimate;
  if (now.state != CellState::Measured || now.constant || now.trend != 0 || (now.spreads && now.spreads->refute))
    return std::nullopt;
  MeasuredCell then;
  const BlockValues seen = blockValues(evidence.index, cell).first(values);
  then.intervals = intervalsOf(evidence, cell, seen, now.correlation, then);
  return stoppedByWidth(evidence.index, cell.kind, seen.runs) ? then.intervals.afterWidthStop() : then.intervals;
}

void readAt(const Plan& plan, const plan::Cell& cell, double alpha, const stats::LookLevels& levels,
            MeasuredCell& measured) {
  CellEstimate& estimate = measured.estimate;
  double confidence = estimate.confidence = 1 - levels.nominal(alpha);
  estimate.interval = measured.intervals.interval(confidence);
  estimate.looks.clear();
  for (const EarlierLook& look : measured.earlier) {
    const auto seen = look.intervals.interval(1 - look.levels.nominal(alpha));
    std::optional<stats::Interval>& all = estimate.interval;
    if (!seen || (all && seen->low <= all->low && all->high <= seen->high)) continue;
    estimate.confidence = 1 - alpha;
    estimate.looks.push_back(look.values);
    all = {all ? std::max(all->low, seen->low) : seen->low, all ? std::min(all->high, seen->high) : seen->high,
           1 - alpha};
  }
  if (sessionsTellNothing(cell, estimate)) {
    measured.intervals = measured.intervals.estimateAlone();
    estimate.interval.reset();
    estimate.why =
        plan::because({.code = Reason::SessionsApart,
                       .numbers = {double(estimate.spreads->sessions), neededSessions(cell, estimate, confidence)}});
    return;
  }
  if (estimate.state != CellState::Measured || estimate.interval) return;
  const double n = estimate.values.size();
  if (estimate.trend != 0) {
    estimate.why = plan::because({.code = Reason::Trend, .numbers = {estimate.trend, n}});
    return;
  }
  const bool single = n == 1 && isExact(plan, *cell.term);
  const unsigned least = fewestFor(confidence, measured);
  measured.fewest = single ? 2 : least;
  if (single)
    estimate.why = plan::because({Reason::OneExactValue});
  else
    estimate.why = plan::because({.code = Reason::TooFew,
                                  .numbers = {double(least), 100 * confidence, n},
                                  .pairs = plan::isPaired(cell),
                                  .because = measured.loss});
}

unsigned fewestFor(double confidence, const MeasuredCell& measured) {
  return stats::minimumPairs(measured.stopped_by_width ? stats::confidenceUnderWidthStop(confidence) : confidence);
}

plan::Cell cellOf(const Metric& metric, const std::string& point) {
  plan::Cell cell;
  cell.term = plan::termOf(MetricTerm{metric.name, point});
  cell.kind = metric.kind;
  cell.points = {point};
  return cell;
}

std::string cellLabel(const Plan& plan, const std::vector<std::string>& factors, const plan::Cell& cell) {
  const std::vector<std::string> labels = plan.levelLabels(factors, cell);
  std::string text;
  for (size_t i = 0; i < labels.size(); ++i) plan::addLabel(text, factors[i], labels[i]);
  return text;
}

}  // namespace expc::judge
