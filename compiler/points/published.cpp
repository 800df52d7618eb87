#include "compiler/points/published.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "compiler/expand/walk.h"
#include "compiler/points/point_writer.h"
#include "runtime/plan/evaluate.h"

namespace expc::points {
namespace {

/// What is too large for a number is not published.
std::optional<double> finite(const plan::Reading& reading) {
  return reading.value && std::isfinite(*reading.value) ? reading.value : std::nullopt;
}

std::string keyOf(const std::vector<const check::Value*>& values) {
  std::string key;
  for (const check::Value* value : values) key += (value ? value->toString() : "-") + '\n';
  return key;
}

/// Whether a preset or -D gives a workload another value than the study does, of a parameter that nobody names.
bool runsElsewhere(const select::Selected& selected, const check::Published& published, size_t use) {
  const check::Study& study = *selected.study;
  for (unsigned parameter = 0; parameter < study.workload->parameters.size(); ++parameter) {
    const bool runs = study.uses[use].parameter_of[parameter] >= 0;
    if (!runs || study.factor_of[parameter] >= 0 || std::ranges::count(published.named, parameter) > 0) continue;
    if (selected.arguments[use][parameter] != study.uses[use].arguments[parameter]) return true;
  }
  return false;
}

}  // namespace

PublishedValues::PublishedValues(const expand::Space& space, const check::Published& published)
    : space_(space), published_(published), at_(space.selected()) {
  for (size_t use = 0; use < space.study().uses.size(); ++use)
    elsewhere_.push_back(runsElsewhere(space.selected(), published, use));
  for (const check::Metric& metric : space.study().metrics)
    derived_.push_back(metric.derived ? toPlan(space.study(), metric).derived : nullptr);
  for (size_t row = 0; row < published.rows.size(); ++row) {
    auto given = published.rows[row].parameters;
    std::sort(given.begin(), given.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<unsigned> parameters;
    std::vector<const check::Value*> values;
    for (const auto& [parameter, value] : given) {
      parameters.push_back(parameter);
      values.push_back(&value);
    }
    auto group = std::find_if(groups_.begin(), groups_.end(),
                              [&](const Group& known) { return known.parameters == parameters; });
    if (group == groups_.end()) group = groups_.insert(group, Group{parameters, {}});
    group->rows[keyOf(values)].push_back(row);
  }
}

std::optional<double> PublishedValues::read(unsigned metric, expand::Levels point) {
  at_.set(point);
  if (elsewhere_[space_.use(point)] || at_.settle()) return std::nullopt;
  std::optional<size_t> best;
  double value = 0;
  for (const Group& group : groups_) {
    std::vector<const check::Value*> values;
    for (unsigned parameter : group.parameters) values.push_back(at_.value(parameter));
    auto found = group.rows.find(keyOf(values));
    if (found == group.rows.end()) continue;
    for (size_t row : found->second)
      for (const auto& [published, number] : published_.rows[row].metrics)
        if (published == metric && (!best || row < *best)) {
          best = row;
          value = number.toDouble();
        }
  }
  return best ? std::optional(value) : std::nullopt;
}

std::optional<double> PublishedValues::of(unsigned metric, expand::Levels point) {
  if (auto value = read(metric, point)) return value;
  if (!derived_[metric]) return std::nullopt;
  const auto part = [&](const plan::MetricTerm& term) {
    return plan::Reading{read(static_cast<unsigned>(space_.study().findMetric(term.metric)), point)};
  };
  at_.set(point);
  if (at_.settle()) return std::nullopt;
  const llvm::json::Object parameters = parametersOf(space_.selected(), at_);
  return finite(plan::evaluate(*derived_[metric], part, &parameters));
}

std::optional<double> PublishedValues::of(const check::Criterion& criterion, const Pairs& pairs, expand::Levels point) {
  if (!criterion.comparison) return of(*criterion.metric, point);
  const check::Study& study = space_.study();
  std::vector<std::vector<unsigned>> points;  // that the term reads; their names in it are their places here
  const auto name = [&](expand::Levels at) {
    points.emplace_back(at.begin(), at.end());
    return std::to_string(points.size() - 1);
  };
  const plan::TermPtr term = comparisonTerm(study, study.comparisons[*criterion.comparison], pairs, point, name);
  const auto published = [&](const plan::MetricTerm& part) {
    return plan::Reading{
        of(static_cast<unsigned>(study.findMetric(part.metric)), points[std::stoul(part.place.point)])};
  };
  return finite(plan::evaluate(*term, published));
}

void findPinned(const expand::Space& space, const std::vector<check::Pin>& pins,
                llvm::function_ref<bool(expand::Levels)> visit) {
  auto kept = space.selected().levels;
  for (const check::Pin& pin : pins)
    std::erase_if(kept[pin.factor], [&](unsigned level) { return level != pin.level; });
  expand::Walker::Options options;
  options.levels = &kept;
  expand::Walker(space, options).run([&](expand::Levels point) {
    bool pinned =
        std::all_of(pins.begin(), pins.end(), [&](const check::Pin& pin) { return point[pin.factor] == pin.level; });
    return !pinned || visit(point);
  });
}

}  // namespace expc::points
