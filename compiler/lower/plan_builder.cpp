#include "compiler/lower/plan_builder.h"

#include <algorithm>
#include <cassert>

#include "compiler/survey/published.h"
#include "compiler/survey/values.h"

namespace expc::lower {

PlanBuilder::PlanBuilder(Prepared& prepared)
    : prepared_(prepared), space_(prepared.space()), study_(prepared.study()), pairs_(prepared.space()) {}

plan::Plan PlanBuilder::build() {
  plan_ = outlineOf(prepared_).head;
  points();
  references();
  controls();
  for (size_t i = 0; i < study_.comparisons.size(); ++i) comparison(i);
  for (size_t i = 0; i < prepared_.selected().criteria.size(); ++i) criterion(i);
  return std::move(plan_);
}

void PlanBuilder::points() {
  const select::Selected& selected = prepared_.selected();
  expand::Assignment at(selected);
  space_.forEach([&](expand::Levels levels) {
    levels_.insert(levels_.end(), levels.begin(), levels.end());
    at.set(levels);
    auto failure = at.settle();
    assert(!failure && "every `when` has a value at every point");
    (void)failure;
    plan::Point point;
    point.id = id(levels);
    point.workload = space_.use(levels);
    for (unsigned factor = 0; factor < levels.size(); ++factor) {
      const auto& kept = selected.levels[factor];
      auto place = std::lower_bound(kept.begin(), kept.end(), levels[factor]) - kept.begin();
      point.levels.push_back(levels[factor] == expand::kAbsent ? plan::kInactive : static_cast<unsigned>(place));
    }
    point.parameters = parametersOf(selected, at);
    point.unavailable = prepared_.machine().unavailable(levels);
    point.expected_infeasible = prepared_.machine().expectedInfeasible(levels);
    point.estimates = prepared_.machine().estimates(levels);
    plan_.points.push_back(std::move(point));
    return true;
  });
}

void PlanBuilder::references() {
  for (size_t i = 0; i < study_.references.size(); ++i) {
    PublishedValues published(space_, study_.references[i]);
    for (const plan::Metric& metric : plan_.metrics) {
      auto index = static_cast<unsigned>(study_.findMetric(metric.name));
      for (size_t at = 0; at < plan_.points.size(); ++at)
        if (auto value = published.of(index, point(at)))
          plan_.references[i].values.push_back({plan_.points[at].id, metric.name, *value});
    }
  }
}

/// A selection may leave out the point of a control.
void PlanBuilder::controls() {
  for (const check::Control& control : study_.controls)
    findPinned(space_, control.pins, [&](expand::Levels point) {
      plan_.controls.push_back({control.name, id(point)});
      return false;
    });
  if (plan_.design.share <= 1) return;
  const auto can_run = [](const plan::Point& one) { return one.startable(); };
  const auto point = std::find_if(plan_.points.begin(), plan_.points.end(), can_run);
  if (point != plan_.points.end()) plan_.controls.push_back({plan::kAlone, point->id});
}

}  // namespace expc::lower
