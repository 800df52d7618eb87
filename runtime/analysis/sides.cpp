#include "runtime/analysis/sides.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "runtime/analysis/cells.h"
#include "runtime/analysis/format.h"
#include "runtime/stats/estimators.h"
#include "runtime/stats/procedures.h"
#include "runtime/stats/rank_sum.h"

namespace expc::analysis {
namespace {

/// The values of both sides, and what they are of.
struct Both {
  Shift shift;
  ValuesBySession before, after;
  bool exact = false;
  double least = 0;  // the smallest p-value that so many values can have
  double here = 1;   // the p-value of these sessions, as if there were no others
  std::optional<plan::Direction> better = std::nullopt;
};

void note(const ValuesBySession& values, const Index& index, const plan::Cell& cell, std::set<int64_t>& sessions,
          std::set<std::string>& nodes) {
  const std::set<int64_t> own(values.sessions.begin(), values.sessions.end());
  sessions.insert(own.begin(), own.end());
  nodes.merge(index.nodes(cell, own));
}

/// Collects what both sides have.
class Collector {
 public:
  Collector(const Index& before, const Index& after) : before_(before), after_(after), plan_(before.plan()) {}

  std::vector<Both> collect() {
    for (const plan::Metric& metric : plan_.metrics)
      for (const plan::Point& point : plan_.points) addMetric(metric, point);
    for (const plan::Comparison& comparison : plan_.comparisons)
      for (const plan::Cell& cell : comparison.cells) addCell(comparison, cell);
    return std::move(all_);
  }
  void tell(Sides& sides) const {
    sides.before.sessions = static_cast<unsigned>(before_sessions_.size());
    sides.before.nodes = static_cast<unsigned>(before_nodes_.size());
    sides.after.sessions = static_cast<unsigned>(after_sessions_.size());
    sides.after.nodes = static_cast<unsigned>(after_nodes_.size());
    sides.only_before = only_before_;
    sides.only_after = only_after_;
  }

 private:
  void addMetric(const plan::Metric& metric, const plan::Point& point) {
    Both both;
    both.shift.subject = metric.name;
    both.shift.label = plan_.label(point);
    both.shift.unit = metric.unit;
    both.shift.dimension = metric.dimension;
    both.exact = metric.exact;
    both.better = metric.better;
    add(std::move(both), cellOf(metric, point.id), true);
  }
  void addCell(const plan::Comparison& comparison, const plan::Cell& cell) {
    Both both;
    both.shift.subject = comparison.name;
    both.shift.label = cellLabel(comparison.factors, cell);
    both.shift.comparison = true;
    both.shift.unit = comparison.unit;
    both.shift.dimension = dimensionOf(plan_, cell);
    add(std::move(both), cell, false);
  }
  void add(Both both, const plan::Cell& cell, bool counts) {
    both.before = valuesOf(before_, cell);
    both.after = valuesOf(after_, cell);
    note(both.before, before_, cell, before_sessions_, before_nodes_);
    note(both.after, after_, cell, after_sessions_, after_nodes_);
    const bool has_before = !both.before.values.empty(), has_after = !both.after.values.empty();
    if (has_before && has_after) return all_.push_back(std::move(both));
    only_before_ += counts && has_before;
    only_after_ += counts && has_after;
  }

  const Index &before_, &after_;
  const plan::Plan& plan_;
  std::vector<Both> all_;
  std::set<int64_t> before_sessions_, after_sessions_;
  std::set<std::string> before_nodes_, after_nodes_;
  unsigned only_before_ = 0, only_after_ = 0;
};

bool constant(const std::vector<double>& values) {
  return values.size() > 1 && std::equal(values.begin() + 1, values.end(), values.begin());
}

bool allPositive(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double value) { return value > 0; });
}

/// With what sessions may lie apart: as their means show it, or, where too few do, as far as is allowed for.
stats::NestedIntervals withSessions(const stats::NestedIntervals& intervals, Both& both,
                                    const std::vector<double>& before, const std::vector<double>& after) {
  const auto shift = stats::shiftOfMeans(after, both.after.sessions, before, both.before.sessions);
  both.shift.by_session = shift.has_value();
  if (shift) return intervals.reaching([shift = *shift](double alpha) { return shift.interval(alpha); });
  if (!intervals.estimate()) return intervals;
  const double centre = *intervals.estimate();
  const double reach =
      both.shift.ratio ? std::log(kSessionsApart) : (kSessionsApart - 1) * std::abs(both.shift.before.value_or(0));
  return intervals.reaching([=](double) { return std::pair(centre - reach, centre + reach); });
}

/// Sets everything of the shift but what Holm decides; whether that is a matter of chance.
bool measure(Both& both) {
  Shift& shift = both.shift;
  std::vector<double> before = both.before.values, after = both.after.values;
  const bool exact = shift.constant = both.exact && constant(before) && constant(after);
  shift.before_n = static_cast<unsigned>(before.size());
  shift.after_n = static_cast<unsigned>(after.size());
  shift.before = stats::orderStatistics(before).estimate();
  shift.after = stats::orderStatistics(after).estimate();
  shift.ratio = shift.dimension != "share" && allPositive(before) && allPositive(after);
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
  shift.interval = intervals.interval(kConfidence);
  shift.moved = exact && shift.p == 0;
  shift.tellable = stats::significant(both.least, 1 - kConfidence);
  return !exact;
}

void sayWorse(Both& both) {
  Shift& shift = both.shift;
  shift.directed = both.better.has_value();
  if (!both.better || !(shift.moved || shift.apart) || !shift.estimate) return;
  const double neutral = shift.ratio ? 1 : 0;
  shift.worse = *both.better == plan::Direction::Lower ? *shift.estimate > neutral : *shift.estimate < neutral;
}

}  // namespace

bool Sides::generalises() const {
  return !shifts.empty() && std::all_of(shifts.begin(), shifts.end(), [](const Shift& shift) {
    return shift.by_session || shift.constant || !shift.tellable;
  });
}

Sides compareSides(const Index& before, const Index& after) {
  Sides sides;
  Collector collector(before, after);
  std::vector<Both> all = collector.collect();
  collector.tell(sides);
  std::vector<Both*> tested;
  std::vector<double> p_values, here;
  // What has too few values to be found to have moved costs the others nothing.
  for (Both& both : all)
    if (measure(both) && both.shift.tellable) {
      p_values.push_back(both.shift.p);
      here.push_back(both.here);
      tested.push_back(&both);
    }
  const std::vector<double> levels = stats::holmLevels(p_values, 1 - kConfidence),
                            levels_here = stats::holmLevels(here, 1 - kConfidence);
  for (size_t i = 0; i < tested.size(); ++i) {
    Shift& shift = tested[i]->shift;
    shift.moved = stats::significant(p_values[i], levels[i]);
    shift.apart = !shift.moved && stats::significant(here[i], levels_here[i]);
  }
  const double least_level = (1 - kConfidence) / static_cast<double>(std::max<size_t>(1, tested.size()));
  sides.tested = static_cast<unsigned>(tested.size());
  for (Both& both : all) {
    Shift& shift = both.shift;
    shift.tellable = shift.moved || (shift.tellable && (shift.constant || stats::significant(both.least, least_level)));
    sayWorse(both);
    sides.shifts.push_back(std::move(both.shift));
  }
  return sides;
}

}  // namespace expc::analysis
