// A study with presets and overrides applied.

#include <algorithm>

#include "compiler/check/checker.h"

namespace expc::check {

Selected Selected::whole(const Study& study) {
  Selected selected;
  selected.study = &study;
  for (const Use& use : study.uses) selected.arguments.push_back(use.arguments);
  selected.given_by.resize(study.workload->parameters.size());
  selected.given_at.resize(study.workload->parameters.size());
  for (const Factor& factor : study.factors) {
    std::vector<unsigned> all(factor.levels.size());
    for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<unsigned>(i);
    selected.levels.push_back(std::move(all));
  }
  for (const Criterion& criterion : study.criteria) selected.criteria.push_back(&criterion);
  selected.design = *study.design;
  return selected;
}

bool Change::drops(const Criterion& criterion) const {
  auto named = [&](const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), criterion.name) != names.end();
  };
  if (removes_all || named(removed) || (removes_confident && criterion.confidence)) return true;
  return (keeps_confident || !kept.empty()) && !named(kept) && !(keeps_confident && criterion.confidence);
}

bool Selected::apply(const Change& change, diag::Emitter& emitter) {
  bool good = true;
  for (const Assigned& assigned : change.assigned) {
    for (size_t use = 0; use < arguments.size(); ++use)
      if (study->uses[use].parameter_of[assigned.parameter] >= 0) arguments[use][assigned.parameter] = assigned.value;
    given_by[assigned.parameter] = change.name;
    given_at[assigned.parameter] = assigned.range;
  }
  for (const Only& only : change.only) levels[only.factor] = only.levels;
  std::erase_if(criteria, [&](const Criterion* criterion) { return change.drops(*criterion); });
  for (const Criterion& added : change.criteria) {
    for (const Criterion* known : criteria)
      if (known->name == added.name) {
        diag::duplicateName(emitter, added.range, "criterion", added.name, known->range);
        good = false;
      }
    criteria.push_back(&added);
  }
  if (!change.design) return good;
  for (const auto& [kind, block] : change.design->kinds) {
    Design::Kind& mine = design.kinds[kind];
    if (!mine.range.isValid()) mine.range = block.range;
    // Steps and epochs are two ways to give one length.
    if (block.settings.contains("epochs")) mine.settings.erase("steps");
    if (block.settings.contains("steps")) mine.settings.erase("epochs");
    for (const auto& [name, setting] : block.settings) mine.settings.insert_or_assign(name, setting);
    // A number of repetitions replaces a rule for them.
    if (block.settings.contains("repeat")) mine.until = block.until;
  }
  for (const auto& [name, setting] : change.design->settings) design.settings.insert_or_assign(name, setting);
  return good;
}

}  // namespace expc::check
