#include "compiler/lower/lower.h"

#include <cassert>

#include "compiler/check/errors.h"
#include "compiler/expand/lints.h"
#include "compiler/lower/lints.h"
#include "compiler/lower/plan_builder.h"

namespace expc::lower {
namespace {

EXPC_DIAGNOSTIC(NoStudy, Error, "there is no study in {0}", std::string_view);
EXPC_DIAGNOSTIC(EmptySelection, Error, "{0} leaves the study '{1}' no point", std::string, std::string_view);

using Reported = std::set<std::pair<diag::Kind, const check::Criterion*>>;

/// The studies that a selection means; empty after a report.
std::vector<const check::Study*> chosen(const check::Program& program, const Selection& selection,
                                        diag::Emitter& emitter) {
  std::vector<const check::Study*> result;
  std::vector<std::string> names;
  for (const auto& study : program.studies) {
    names.push_back(study->name);
    if (!selection.study || *selection.study == study->name) result.push_back(study.get());
  }
  if (!result.empty()) return result;
  if (selection.study)
    check::errors::unknownName(emitter, {}, "study", *selection.study, names);
  else
    emitter.emit({}, NoStudy, program.sources->name(program.root));
  return result;
}

/// Applies the presets and overrides of a selection; nothing after a report.
std::optional<check::Selected> select(const check::Program& program, const check::Study& study,
                                      const Selection& selection, diag::Emitter& emitter) {
  check::Selected selected = check::Selected::whole(study);
  bool good = true;
  for (const std::string& name : selection.presets) {
    if (const check::Change* preset = study.findPreset(name)) {
      good &= selected.apply(*preset, emitter);
      continue;
    }
    std::vector<std::string> names;
    for (const check::Change& preset : study.presets) names.push_back(preset.name);
    check::errors::unknownName(emitter, {}, "preset", name, names, fmt::format(" of the study '{}'", study.name));
    good = false;
  }
  for (const std::string& text : selection.overrides) {
    auto change = check::resolveOverride(program, study, text, emitter);
    if (change) good &= selected.apply(*change, emitter);
    good &= change.has_value();
  }
  return good ? std::optional<check::Selected>(std::move(selected)) : std::nullopt;
}

std::string describe(const Selection& selection) {
  std::string text;
  for (const std::string& preset : selection.presets)
    text += fmt::format("{}preset {}", text.empty() ? "" : ", ", preset);
  for (const std::string& change : selection.overrides)
    text += fmt::format("{}-D {}", text.empty() ? "" : ", ", change);
  return text;
}

/// The grid of a selection, with what its effective design cannot decide.
std::optional<expand::Grid> expandSelected(const check::Program& program, const check::Selected& selected,
                                           const Selection& selection, source::Range range, Reported& reported,
                                           diag::Emitter& emitter) {
  auto grid = expand::expandGrid(selected, emitter);
  if (!grid) return std::nullopt;
  if (grid->size() == 0) {
    auto builder = emitter.build(range, EmptySelection, describe(selection), selected.study->name);
    for (unsigned index : expand::minimalConflict(selected))
      builder.note(selected.study->rules[index].range, "this rule is to blame");
    builder.emit();
    return std::nullopt;
  }
  lintRepetitions(selected, *grid, *program.sources, describe(selection), reported, emitter);
  return grid;
}

/// The whole study: its grid, rules and pairs.
std::optional<expand::Grid> verifyWhole(const check::Program& program, const check::Selected& whole,
                                        diag::Emitter& emitter) {
  auto grid = expand::expandGrid(whole, emitter);
  if (!grid) return std::nullopt;
  expand::lintGrid(whole, *grid, *program.sources, emitter);
  if (grid->size() == 0) return std::nullopt;
  lintPairs(whole, *grid, *program.sources, emitter);
  return grid;
}

void verifyStudy(const check::Program& program, const check::Study& study, const Selection& selection,
                 diag::Emitter& emitter) {
  if (!study.valid) return;
  Reported reported;
  check::Selected whole = check::Selected::whole(study);
  auto grid = verifyWhole(program, whole, emitter);
  if (!grid) return;
  lintRepetitions(whole, *grid, *program.sources, "", reported, emitter);
  for (const check::Change& preset : study.presets) {
    Selection alone{study.name, {preset.name}, {}};
    if (auto selected = select(program, study, alone, emitter))
      expandSelected(program, *selected, alone, preset.range, reported, emitter);
  }
  if (selection.overrides.empty() && selection.presets.empty()) return;
  if (auto selected = select(program, study, selection, emitter))
    expandSelected(program, *selected, selection, study.range, reported, emitter);
}

std::optional<plan::Plan> compileStudy(const check::Program& program, const check::Study& study,
                                       const Selection& selection, const SystemFacts& facts, diag::Emitter& emitter) {
  if (!study.valid) return std::nullopt;
  size_t before = emitter.errors();
  auto whole = verifyWhole(program, check::Selected::whole(study), emitter);
  auto selected = select(program, study, selection, emitter);
  if (!whole || !selected) return std::nullopt;
  Reported reported;
  auto grid = expandSelected(program, *selected, selection, study.range, reported, emitter);
  if (!grid || emitter.errors() != before) return std::nullopt;
  return PlanBuilder(program, *selected, *grid, selection, facts, emitter).build();
}

}  // namespace

bool verify(const check::Program& program, const Selection& selection, diag::Emitter& emitter) {
  size_t before = emitter.errors();
  // After a syntax error there is nothing to look at, and that was said.
  if (program.scopes.empty() || (before > 0 && program.studies.empty())) return false;
  bool library = program.studies.empty() && !selection.study && check::declaresAnything(program);
  if (library) return true;
  for (const check::Study* study : chosen(program, selection, emitter))
    verifyStudy(program, *study, selection, emitter);
  return emitter.errors() == before;
}

std::optional<plan::Plan> compile(const check::Program& program, const Selection& selection, const SystemFacts& facts,
                                  diag::Emitter& emitter) {
  std::vector<const check::Study*> studies = chosen(program, selection, emitter);
  assert(studies.size() <= 1 && "name one of the studies");
  if (studies.empty()) return std::nullopt;
  return compileStudy(program, *studies[0], selection, facts, emitter);
}

std::vector<plan::Plan> compileAll(const check::Program& program, const Selection& selection, const SystemFacts& facts,
                                   diag::Emitter& emitter) {
  std::vector<plan::Plan> plans;
  size_t before = emitter.errors();
  for (const check::Study* study : chosen(program, selection, emitter))
    if (auto plan = compileStudy(program, *study, selection, facts, emitter)) plans.push_back(std::move(*plan));
  if (emitter.errors() != before) plans.clear();
  return plans;
}

}  // namespace expc::lower
