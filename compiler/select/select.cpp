// A study with presets and overrides applied.

#include "compiler/select/select.h"

#include <algorithm>

#include "compiler/check/named.h"

namespace expc::select {

EXPC_DIAGNOSTIC(NoStudy, Error, "there is no study in {0}");

Selected Selected::whole(const check::Study& study) {
  Selected selected;
  selected.study = &study;
  for (const check::Use& use : study.uses) selected.arguments.push_back(use.arguments);
  selected.given_by.resize(study.workload->parameters.size());
  selected.given_at.resize(study.workload->parameters.size());
  for (const check::Factor& factor : study.factors) {
    std::vector<unsigned> all(factor.levels.size());
    for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<unsigned>(i);
    selected.levels.push_back(std::move(all));
  }
  selected.kept_at.resize(study.factors.size());
  for (const check::Criterion& criterion : study.criteria) selected.criteria.push_back(&criterion);
  selected.design = *study.design;
  return selected;
}

bool Selected::apply(const check::Change& change, diag::Emitter& emitter) {
  bool good = true;
  for (const check::Assigned& assigned : change.assigned) {
    for (size_t use = 0; use < arguments.size(); ++use)
      if (study->uses[use].parameter_of[assigned.parameter] >= 0) arguments[use][assigned.parameter] = assigned.value;
    given_by[assigned.parameter] = change.name;
    given_at[assigned.parameter] = assigned.range;
  }
  for (const check::Only& only : change.only) {
    levels[only.factor] = only.levels;
    kept_at[only.factor] = only.range;
  }
  std::erase_if(criteria, [&](const check::Criterion* criterion) { return change.drops(*criterion); });
  for (const check::Criterion& added : change.criteria) {
    for (const check::Criterion* known : criteria)
      if (known->name == added.name) {
        duplicateName(emitter, "criterion", added, known->range);
        good = false;
      }
    criteria.push_back(&added);
  }
  if (!change.design) return good;
  for (const auto& [kind, block] : change.design->kinds) {
    check::Design::Kind& mine = design.kinds[kind];
    if (!mine.range.isValid()) mine.range = block.range;
    // Steps and epochs are two ways to give one length.
    if (block.settings.contains("epochs")) mine.settings.erase("steps");
    if (block.settings.contains("steps")) mine.settings.erase("epochs");
    for (const auto& [name, setting] : block.settings) mine.settings.insert_or_assign(name, setting);
    // A number of repetitions replaces a rule for them.
    if (block.settings.contains("repeat")) mine.until = block.until, mine.looks = block.looks;
  }
  for (const auto& [name, setting] : change.design->settings) design.settings.insert_or_assign(name, setting);
  return good;
}

std::vector<const check::Study*> chosenStudies(const check::Program& program, const Selection& selection,
                                               diag::Emitter& emitter) {
  std::vector<const check::Study*> result;
  std::vector<std::string> names;
  for (const auto& study : program.studies) {
    names.push_back(study->name);
    if (!selection.study || *selection.study == study->name) result.push_back(study.get());
  }
  if (!result.empty()) return result;
  if (selection.study)
    diag::unknownName(emitter, {}, "study", *selection.study, names);
  else
    emitter.emit({}, NoStudy, program.modules.root().path);
  return result;
}

std::optional<Selected> select(const check::Program& program, const check::Study& study, const Selection& selection,
                               diag::Emitter& emitter) {
  Selected selected = Selected::whole(study);
  bool good = true;
  for (const std::string& name : selection.presets) {
    if (const check::Change* preset = study.findPreset(name)) {
      good &= selected.apply(*preset, emitter);
      continue;
    }
    diag::unknownName(emitter, {}, "preset", name, check::namesOf(study.presets),
                      fmt::format(" of the study '{}'", study.name));
    good = false;
  }
  for (const std::string& text : selection.overrides) {
    auto change = resolveOverride(program, study, text, emitter);
    if (change) good &= selected.apply(*change, emitter);
    good &= change.has_value();
  }
  return good ? std::optional<Selected>(std::move(selected)) : std::nullopt;
}

std::string Selection::describe() const {
  std::string text;
  for (const std::string& preset : presets) text += fmt::format("{}preset {}", text.empty() ? "" : ", ", preset);
  for (const std::string& change : overrides) text += fmt::format("{}-D {}", text.empty() ? "" : ", ", change);
  return text;
}

}  // namespace expc::select
