#include "compiler/lower/prepared.h"

#include "compiler/check/errors.h"
#include "compiler/lower/outline.h"
#include "compiler/survey/lints.h"
#include "runtime/plan/json.h"

namespace expc::lower {
namespace {

EXPC_DIAGNOSTIC(NoStudy, Error, "there is no study in {0}", std::string_view);
EXPC_DIAGNOSTIC(EmptySelection, Error, "{0} leaves the study '{1}' no point", std::string, std::string_view);

}  // namespace

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
    diag::unknownName(emitter, {}, "preset", name, names, fmt::format(" of the study '{}'", study.name));
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

/// One study under its selections; each is looked at once.
class Preparer {
 public:
  Preparer(const check::Program& program, const check::Study& study, const check::System* system,
           diag::Emitter& emitter)
      : program_(program), study_(study), system_(system), emitter_(emitter) {}

  /// The unrestricted study: its points, rules, pairs and design. Null after an error that leaves nothing to look at.
  std::unique_ptr<Prepared> whole(const Selection& selection, bool ids) {
    const size_t errors = emitter_.errors();
    auto prepared = start(check::Selected::whole(study_));
    if (!prepared || !look(*prepared, ids)) return nullptr;
    const expand::Space& space = *prepared->space_;
    if (prepared->survey_->points == 0) {
      expand::lintEmpty(space, emitter_);
      return nullptr;
    }
    expand::lintGrid(space, prepared->survey_->seen, emitter_);
    lintPairs(space, *prepared->survey_, *program_.sources, emitter_);
    lintCriteria(space, *prepared->survey_, emitter_);
    lintControls(space, emitter_);
    lintSamePoints(space, emitter_);
    lintPublished(space, *prepared->survey_, emitter_);
    finish(*prepared, selection, "");
    if (emitter_.errors() == errors) lintSomePairs(space, *prepared->survey_, *program_.sources, emitter_);
    return prepared;
  }

  /// The criteria that a preset adds, on all levels: only where none of them has a point is it a mistake.
  void added(const check::Change& preset) {
    if (preset.criteria.empty()) return;
    auto selected = check::Selected::whole(study_);
    selected.criteria.clear();
    check::Change change;
    change.assigned = preset.assigned;
    selected.apply(change, emitter_);
    for (const check::Criterion& criterion : preset.criteria) selected.criteria.push_back(&criterion);
    auto prepared = start(std::move(selected));
    if (!prepared || !look(*prepared, false) || prepared->survey_->points == 0) return;
    lintCriteria(*prepared->space_, *prepared->survey_, emitter_);
    lintPublished(*prepared->space_, *prepared->survey_, emitter_);
  }

  /// A restricted one.
  std::unique_ptr<Prepared> selected(check::Selected selected, const Selection& selection, source::Range range,
                                     bool ids) {
    auto prepared = start(std::move(selected));
    if (!prepared || !look(*prepared, ids)) return nullptr;
    if (prepared->survey_->points == 0) {
      auto builder = emitter_.build(range, EmptySelection, describe(selection), study_.name);
      auto rules = expand::minimalConflict(*prepared->space_, prepared->selected_.levels);
      if (rules) expand::noteConflict(builder, *prepared->space_, *rules);
      builder.emit();
      return nullptr;
    }
    finish(*prepared, selection, describe(selection));
    return prepared;
  }

 private:
  std::unique_ptr<Prepared> start(check::Selected selected) {
    std::unique_ptr<Prepared> prepared(new Prepared(program_));
    prepared->selected_ = std::move(selected);
    prepared->space_ = expand::Space::compile(prepared->selected_, emitter_);
    if (!prepared->space_) return nullptr;
    prepared->machine_ = std::make_unique<Machine>(*prepared->space_, system_, program_.lookup);
    prepared->writer_ = std::make_unique<PointWriter>(*prepared->space_);
    return prepared;
  }

  bool look(Prepared& prepared, bool ids) {
    prepared.survey_ = surveyOf(*prepared.space_, *prepared.machine_, ids ? prepared.writer_.get() : nullptr, emitter_);
    return prepared.survey_.has_value();
  }

  void finish(Prepared& prepared, const Selection& selection, const std::string& description) {
    lintDesign(*prepared.space_, *prepared.survey_, description, reported_, emitter_);
    if (system_) lintInfeasible(*prepared.space_, *prepared.survey_, *system_, reported_, emitter_);
    prepared.outline_ = outlineOf(program_, *prepared.space_, *prepared.survey_, selection, system_);
  }

  const check::Program& program_;
  const check::Study& study_;
  const check::System* system_;
  diag::Emitter& emitter_;
  Reported reported_;
};

std::unique_ptr<Prepared> Prepared::of(const check::Program& program, const check::Study& study,
                                       const Selection& selection, const check::System* system,
                                       diag::Emitter& emitter) {
  if (!study.valid) return nullptr;
  size_t before = emitter.errors();
  bool plain = selection.presets.empty() && selection.overrides.empty();
  // What the system says of the whole study does not concern a selection of it.
  Preparer unrestricted(program, study, plain ? system : nullptr, emitter);
  auto whole = unrestricted.whole(selection, plain);
  auto selected = select(program, study, selection, emitter);
  if (!whole || !selected) return nullptr;
  for (const std::string& name : selection.presets) unrestricted.added(*study.findPreset(name));
  if (!plain)
    whole = Preparer(program, study, system, emitter).selected(std::move(*selected), selection, study.range, true);
  return emitter.errors() == before ? std::move(whole) : nullptr;
}

void Prepared::line(expand::Levels point, std::string& out) {
  out = "{";
  auto text = [&](const char* name, const std::string& why) {
    if (!why.empty()) out += fmt::format("\"{}\":{},", name, plan::canonicalJson(plan::jsonText(why)));
  };
  const std::string& unavailable = machine_->unavailable(point);
  text("expected_infeasible", machine_->expectedInfeasible(point));
  out += "\"levels\":";
  writer_->appendLevels(point, out);
  out += ",\"parameters\":";
  writer_->appendParameters(point, out);
  out += ",\"point\":\"";
  out += writer_->id(point);
  out += '"';
  if (!unavailable.empty()) out += ",\"unavailable\":" + plan::canonicalJson(plan::jsonText(unavailable));
  out += '}';
}

void verifyStudy(const check::Program& program, const check::Study& study, const Selection& selection,
                 const check::System* system, diag::Emitter& emitter) {
  if (!study.valid) return;
  Preparer preparer(program, study, system, emitter);
  if (!preparer.whole(selection, false)) return;
  auto look = [&](const Selection& alone, source::Range range) {
    if (auto selected = select(program, study, alone, emitter))
      preparer.selected(std::move(*selected), alone, range, false);
  };
  for (const check::Change& preset : study.presets) preparer.added(preset);
  for (const check::Change& preset : study.presets) look({study.name, {preset.name}, {}}, preset.range);
  if (!selection.overrides.empty() || !selection.presets.empty()) look(selection, study.range);
}

}  // namespace expc::lower
