#include "compiler/survey/published.h"

#include <algorithm>
#include <set>

#include "compiler/expand/walk.h"
#include "compiler/survey/terms.h"

namespace expc::lower {
namespace {

std::string keyOf(const std::vector<const check::Value*>& values) {
  std::string key;
  for (const check::Value* value : values) key += (value ? value->toString() : "-") + '\n';
  return key;
}

}  // namespace

PublishedValues::PublishedValues(const expand::Space& space, const check::Published& published)
    : space_(space), published_(published), at_(space.selected()) {
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

std::optional<double> PublishedValues::of(unsigned metric, expand::Levels point) {
  at_.set(point);
  if (at_.settle()) return std::nullopt;
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
  if (best) return value;
  const check::MetricTermPtr& derived = space_.study().metrics[metric].derived;
  return derived ? term(*derived, point) : std::nullopt;
}

std::optional<double> PublishedValues::term(const check::MetricTerm& term, expand::Levels point) {
  using Op = check::MetricTerm::Op;
  if (term.op == Op::Constant) return term.constant.toDouble();
  if (term.op == Op::Metric) return of(term.metric, point);
  if (term.op == Op::EpochsTo) return std::nullopt;  // no series is published
  auto left = this->term(*term.operands[0], point), right = this->term(*term.operands[1], point);
  if (!left || !right) return std::nullopt;
  switch (term.op) {
    case Op::Add:
      return *left + *right;
    case Op::Subtract:
      return *left - *right;
    case Op::Multiply:
      return *left * *right;
    default:
      return *right == 0 ? std::optional<double>() : *left / *right;
  }
}

std::optional<double> PublishedValues::of(const check::Comparison& comparison, const Pairs& pairs,
                                          expand::Levels point) {
  const check::Study& study = space_.study();
  std::vector<unsigned> partner = pairs.partner(comparison, point).partner;
  auto value = [&](expand::Levels at) {
    return comparison.inner ? of(study.comparisons[*comparison.inner], pairs, at) : of(comparison.metric, at);
  };
  auto treated = value(point), baseline = value(partner);
  if (!treated || !baseline) return std::nullopt;
  return compareValues(study, comparison, *treated, point[comparison.over], *baseline, partner[comparison.over]);
}

std::optional<double> PublishedValues::of(const check::Criterion& criterion, const Pairs& pairs, expand::Levels point) {
  if (criterion.comparison) return of(space_.study().comparisons[*criterion.comparison], pairs, point);
  return of(*criterion.metric, point);
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

}  // namespace expc::lower
