#include "runtime/describe/sides.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "runtime/base/numbers.h"
#include "runtime/judge/cells.h"
#include "runtime/judge/format.h"
#include "runtime/stats/estimators.h"
#include "runtime/stats/procedures.h"
#include "runtime/stats/rank_sum.h"

namespace expc::describe {
namespace {

/// The terms that the cell subtracts; empty for a cell that is no difference.
std::vector<plan::TermPtr> differenceOf(const plan::Cell& cell) {
  const auto* operation = cell.term->as<plan::OperationTerm>();
  if (!operation || operation->op != plan::OperationTerm::Op::Difference) return {};
  return operation->operands;
}

/// The median of the cell's values without their signs; of a difference the largest of what it lies between.
double magnitudeOf(const judge::Index& index, plan::Cell cell) {
  const std::vector<plan::TermPtr> operands = differenceOf(cell);
  double largest = 0;
  for (const plan::TermPtr& operand : operands) {
    cell.term = operand;
    largest = std::max(largest, magnitudeOf(index, cell));
  }
  if (!operands.empty()) return largest;
  std::vector<double> sizes = judge::valuesOf(index, cell).values;
  for (double& size : sizes) size = std::abs(size);
  const double median = stats::medianOf(sizes).value_or(0);
  return std::isfinite(median) ? median : 0;
}

/// One side's values, and where those that were asked for are from.
class Source {
 public:
  explicit Source(const judge::Index& index) : index_(index) {}

  judge::ValuesBySession of(const plan::Cell& cell) {
    judge::ValuesBySession values = judge::valuesOf(index_, cell);
    const std::set<int64_t> own(values.sessions.begin(), values.sessions.end());
    sessions_.insert(own.begin(), own.end());
    nodes_.merge(index_.nodes(cell, own));
    return values;
  }
  double magnitude(const plan::Cell& cell) const { return magnitudeOf(index_, cell); }
  judge::Scope scope() const {
    judge::Scope scope;
    scope.sessions = sessions_.size();
    scope.nodes = nodes_.size();
    return scope;
  }

 private:
  const judge::Index& index_;
  std::set<int64_t> sessions_;
  std::set<std::string> nodes_;
};

/// The values of both sides, and what they are of.
struct Both {
  Shift shift;
  judge::ValuesBySession before, after;
  const Metric* metric = nullptr;  // none of a comparison
  bool exact = false;              // it reads exact metrics alone
  bool difference = false;         // a comparison that subtracts: near nothing where what it compares is not
  double size = 0;                 // of a difference, the largest of what it lies between, on either side
  double least = 0;                // the smallest p-value that so many values can have
  double here = 1;                 // the p-value of these sessions, as if there were no others
};

/// Collects the metrics and comparisons that both sides have.
std::vector<Both> collect(const Plan& plan, Source before, Source after, Sides& sides) {
  std::vector<Both> all;
  const auto add = [&](const std::string& subject, const std::string& label, const std::string& unit,
                       const plan::Cell& cell, const Metric* metric) {
    Both both{{}, before.of(cell), after.of(cell), metric};
    both.shift.subject = subject;
    both.shift.label = label;
    both.shift.comparison = !metric;
    both.shift.unit = unit;
    both.shift.dimension = metric ? metric->dimension : judge::dimensionOf(plan, cell);
    both.exact = metric ? metric->exact : judge::isExact(plan, *cell.term);
    both.difference = !metric && !differenceOf(cell).empty();
    if (both.difference) both.size = std::max(before.magnitude(cell), after.magnitude(cell));
    const bool has_before = !both.before.values.empty(), has_after = !both.after.values.empty();
    if (has_before && has_after) return all.push_back(std::move(both));
    sides.only_before += metric && has_before;
    sides.only_after += metric && has_after;
  };
  for (const Metric& metric : plan.metrics)
    for (const Point& point : plan.points)
      add(metric.name, plan.label(point), metric.unit, judge::cellOf(metric, point.id), &metric);
  for (const Comparison& comparison : plan.comparisons)
    for (const plan::Cell& cell : comparison.cells)
      add(comparison.name, judge::cellLabel(plan, comparison.factors, cell), comparison.unit, cell, nullptr);
  sides.before = before.scope();
  sides.after = after.scope();
  return all;
}

bool constant(const std::vector<double>& values) {
  return values.size() > 1 && std::equal(values.begin() + 1, values.end(), values.begin());
}

bool allPositive(const std::vector<double>& values) {
  return std::ranges::all_of(values, [](double value) { return value > 0; });
}

/// Whether zero means that nothing was measured: for a time, rate or size.
bool isMeasure(const Metric& metric) { return metric.unit == "s" || metric.unit == "B" || metric.unit.ends_with("/s"); }

/// How far sessions may lie apart where nothing shows it: kSessionsApart, which a difference is where it is as much of
/// the larger side, whichever that is.
double allowedReach(const Both& both) {
  if (both.shift.ratio) return std::log(kSessionsApart);
  double size = both.size;
  for (const auto& side : {both.shift.before, both.shift.after})
    if (side && std::isfinite(*side)) size = std::max(size, std::abs(*side));
  return (1 - 1 / kSessionsApart) * size;
}

/// With what sessions may lie apart: as their means show it, or, where too few do, as far as is allowed for.
stats::NestedIntervals withSessions(const stats::NestedIntervals& intervals, Both& both,
                                    const std::vector<double>& before, const std::vector<double>& after) {
  const auto shift = stats::shiftOfMeans(after, both.after.sessions, before, both.before.sessions);
  both.shift.by_session = shift.has_value();
  if (shift) return intervals.reaching([shift = *shift](double alpha) { return shift.interval(alpha); });
  if (!intervals.estimate()) return intervals;
  const double centre = *intervals.estimate(), reach = allowedReach(both);
  return intervals.reaching([=](double) { return std::pair(centre - reach, centre + reach); });
}

/// Sets everything of the shift but what Holm decides; whether that is a matter of chance.
bool measure(Both& both) {
  Shift& shift = both.shift;
  std::vector<double> before = both.before.values, after = both.after.values;
  const bool exact = shift.constant = both.exact && constant(before) && constant(after);
  shift.before_n = before.size();
  shift.after_n = after.size();
  shift.before = stats::medianOf(before);
  shift.after = stats::medianOf(after);
  const bool above = allPositive(before), still_above = allPositive(after);
  shift.ratio = !both.difference && shift.dimension != "share" && above && still_above;
  shift.zero = both.metric && above != still_above && isMeasure(*both.metric);
  if (shift.ratio)
    for (auto* values : {&before, &after})
      for (double& value : *values) value = std::log(value);
  stats::NestedIntervals intervals =
      exact ? stats::NestedIntervals::exactly(after[0] == before[0] ? 0 : after[0] - before[0])
            : stats::rankSum(after, before);
  const auto away = [](double low, double high) { return low > 0 || high < 0; };
  both.here = intervals.smallestAlpha(away);
  both.least = exact ? 0 : intervals.smallestAlpha([](double, double) { return true; });
  if (!exact) intervals = withSessions(intervals, both, before, after);
  shift.p = intervals.smallestAlpha(away);
  if (shift.ratio) intervals = intervals.mapped([](double log) { return std::exp(log); });
  shift.estimate = intervals.estimate();
  shift.interval = intervals.interval(judge::kConfidence);
  shift.moved = exact && shift.p == 0;
  shift.tellable = stats::significant(both.least, 1 - judge::kConfidence);
  return !exact;
}

/// Whether all from `low` to `high` is a change by more than the margin.
bool isBeyond(double margin, const Shift& shift, double low, double high) {
  if (shift.ratio) return low > 1 + margin || high < 1 / (1 + margin);
  const bool share = shift.dimension == "share" || shift.dimension == base::kPoints;
  const double reach = share || !shift.before ? margin : margin * std::abs(*shift.before);
  return low > reach || high < -reach;
}

void sayWorse(Both& both, double margin) {
  Shift& shift = both.shift;
  const bool directed = both.metric && both.metric->better;
  shift.open = directed && (!shift.tellable || shift.zero);
  if (!directed || !(shift.moved || shift.apart) || !shift.estimate) return;
  const double neutral = shift.ratio ? 1 : 0;
  shift.worse = both.metric->better == plan::Direction::Lower ? *shift.estimate > neutral : *shift.estimate < neutral;
  if (!*shift.worse) return;
  shift.open = !shift.tellable;
  shift.regression =
      shift.moved && shift.interval && isBeyond(margin, shift, shift.interval->low, shift.interval->high);
  shift.open |= shift.apart && isBeyond(margin, shift, *shift.estimate, *shift.estimate);
}

}  // namespace

bool Sides::generalises() const {
  return std::ranges::any_of(shifts, &Shift::by_session) && std::ranges::all_of(shifts, [](const Shift& shift) {
           return shift.by_session || shift.constant || !shift.tellable;
         });
}

bool Sides::ofChance() const { return !std::ranges::all_of(shifts, &Shift::constant); }

Sides compareSides(const judge::Index& before, const judge::Index& after, double margin) {
  Sides sides;
  std::vector<Both> all = collect(before.plan(), Source(before), Source(after), sides);
  std::vector<Both*> tested;
  std::vector<double> p_values, here;
  // A metric with too few values to show a change costs the others nothing.
  for (Both& both : all)
    if (measure(both) && both.shift.tellable) {
      p_values.push_back(both.shift.p);
      here.push_back(both.here);
      tested.push_back(&both);
    }
  const std::vector<double> levels = stats::holmLevels(p_values, 1 - judge::kConfidence),
                            levels_here = stats::holmLevels(here, 1 - judge::kConfidence);
  for (size_t i = 0; i < tested.size(); ++i) {
    Shift& shift = tested[i]->shift;
    shift.moved = stats::significant(p_values[i], levels[i]);
    shift.apart = !shift.moved && stats::significant(here[i], levels_here[i]);
  }
  const double least_level = (1 - judge::kConfidence) / double(std::max<size_t>(1, tested.size()));
  sides.tested = tested.size();
  for (Both& both : all) {
    Shift& shift = both.shift;
    shift.tellable = shift.moved || (shift.tellable && (shift.constant || stats::significant(both.least, least_level)));
    sayWorse(both, margin);
    sides.shifts.push_back(std::move(both.shift));
  }
  return sides;
}

}  // namespace expc::describe
