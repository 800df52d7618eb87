// Decides which lints run on which selection. The whole study gets all of them. A selection of it gets only
// those that can differ there: emptiness, idle values, and what the design and the machine allow. Lints that
// concern points, rules and pairs look at the whole study, so that a restricted run does not report rules as
// useless.

#include "compiler/points/prepared.h"

#include "compiler/points/lints.h"
#include "runtime/base/format.h"
#include "runtime/base/json.h"

namespace expc::points {
namespace {

/// Walks and lints one study under its selections. `reported` is shared, so that a design mistake of the study
/// is not repeated for each preset that inherits it.
struct Preparer {
  const check::Program& program;
  const check::Study& study;
  const check::System* system;
  diag::Emitter& emitter;
  /// Limit for what is prepared; the whole study, of which it may be a selection, has the larger kMaxPoints.
  uint64_t most_points = expand::kMaxPoints;
  Reported reported = {};

  /// The unrestricted study. `ids`: sum up the ids of its points, since it is what is prepared. Null after an
  /// error that leaves nothing to look at.
  std::unique_ptr<Prepared> whole(bool ids) {
    const size_t errors = emitter.errors();
    auto prepared = look({study.name, {}, {}}, expand::Selected::whole(study), ids);
    if (!prepared) return nullptr;
    const Lints lint = lints(*prepared);
    if (prepared->survey->points == 0) return lint.empty(study.range), nullptr;
    lint.grid();
    lint.idle();
    lint.nothingLearned();
    lint.pairs();
    lint.criteria();
    lint.controls();
    lint.samePoints();
    lint.published();
    lintEffective(lint);
    // Missing partners are often consequences of an error above, so they are mentioned only without one.
    if (emitter.errors() == errors) lint.somePairs();
    return prepared;
  }

  /// The criteria that a preset adds, on all levels of the study. A preset may restrict the levels so that its
  /// criterion has no point there; it is a mistake only if it has none on the whole grid.
  void added(const check::Change& preset) {
    if (preset.criteria.empty()) return;
    auto selected = expand::Selected::whole(study);
    selected.criteria.clear();
    check::Change change;
    change.assigned = preset.assigned;
    selected.apply(change, emitter);
    for (const check::Criterion& criterion : preset.criteria) selected.criteria.push_back(&criterion);
    auto prepared = look({}, std::move(selected), false);
    if (!prepared || prepared->survey->points == 0) return;
    const Lints lint = lints(*prepared);
    lint.criteria();
    lint.published();
  }

  /// A restricted study; `range` is the preset that restricts it, invalid for the command line.
  std::unique_ptr<Prepared> selected(const expand::Selection& selection, expand::Selected selected, source::Range range,
                                     bool ids) {
    auto prepared = look(selection, std::move(selected), ids);
    if (!prepared) return nullptr;
    const Lints lint = lints(*prepared);
    if (prepared->survey->points == 0) return lint.empty(range), nullptr;
    lint.idle();
    lint.nothingLearned();
    lintEffective(lint);
    return prepared;
  }

  /// Verifies the whole study, every preset alone, then the selection if there is one.
  void verify(const expand::Selection& selection) {
    const diag::Emitter::Including including(emitter, study.parts);
    if (!whole(false)) return;
    const auto alone = [&](const expand::Selection& one, source::Range range) {
      if (auto changed = expand::select(program, study, one, emitter)) selected(one, std::move(*changed), range, false);
    };
    for (const check::Change& preset : study.presets) added(preset);
    for (const check::Change& preset : study.presets) alone({study.name, {preset.name}, {}}, preset.range);
    if (!selection.plain()) alone(selection, {});
  }

  /// Compiles the space and walks it; null after a report.
  std::unique_ptr<Prepared> look(expand::Selection selection, expand::Selected selected, bool ids) {
    auto prepared = std::make_unique<Prepared>(Prepared{program, system, std::move(selection), std::move(selected)});
    prepared->space = Space::compile(prepared->selected, emitter);
    if (!prepared->space) return nullptr;
    const Space& space = *prepared->space;
    prepared->machine = std::make_unique<Machine>(space, system, program.lookup);
    prepared->writer = std::make_unique<PointWriter>(space);
    prepared->survey = points::survey(space, *prepared->machine, ids ? prepared->writer.get() : nullptr,
                                      ids ? most_points : expand::kMaxPoints, emitter);
    return prepared->survey ? std::move(prepared) : nullptr;
  }

  /// Runs the lints that depend on the design and the machine.
  void lintEffective(const Lints& lint) {
    lint.design();
    if (system) lint.infeasible(*system);
  }

  Lints lints(const Prepared& of) {
    return {*of.space, *of.survey, of.selection.describe(), reported, *program.sources, emitter};
  }
};

}  // namespace

std::unique_ptr<Prepared> Prepared::of(const check::Program& program, const check::Study& study,
                                       const expand::Selection& selection, const check::System* system,
                                       diag::Emitter& emitter, uint64_t most_points) {
  if (!study.valid) return nullptr;
  const size_t before = emitter.errors();
  const diag::Emitter::Including including(emitter, study.parts);
  // Limits of the machine matter for what is asked: with a selection, the whole study is checked without them.
  Preparer unrestricted{program, study, selection.plain() ? system : nullptr, emitter, most_points};
  auto prepared = unrestricted.whole(selection.plain());
  auto selected = expand::select(program, study, selection, emitter);
  if (!prepared || !selected) return nullptr;
  for (const std::string& name : selection.presets) unrestricted.added(*study.findPreset(name));
  if (!selection.plain())
    prepared =
        Preparer{program, study, system, emitter, most_points}.selected(selection, std::move(*selected), {}, true);
  return emitter.errors() == before ? std::move(prepared) : nullptr;
}

std::vector<std::unique_ptr<Prepared>> Prepared::all(const check::Program& program, const expand::Selection& selection,
                                                     const check::System* system, diag::Emitter& emitter,
                                                     uint64_t most_points) {
  std::vector<std::unique_ptr<Prepared>> all;
  for (const check::Study* study : expand::chosenStudies(program, selection, emitter))
    if (auto one = of(program, *study, selection, system, emitter, most_points)) all.push_back(std::move(one));
  return all;
}

std::unique_ptr<expand::Condition> Prepared::condition(const std::string& where, diag::Emitter& emitter) const {
  check::FormulaPtr formula = expand::resolveCondition(program, study(), "--where", where, emitter);
  return formula ? std::make_unique<expand::Condition>(*space, std::move(formula), expand::View::Study) : nullptr;
}

void Prepared::line(Levels point, std::string& out) {
  out = "{";
  // Members are written in the order of their names, as canonical JSON has them.
  auto text = [&](const char* name, const std::string& why) {
    if (!why.empty()) out += fmt::format("\"{}\":{},", name, base::jsonLiteral(why));
  };
  const std::string& unavailable = machine->unavailable(point);
  text("expected_infeasible", machine->expectedInfeasible(point));
  out += "\"levels\":";
  writer->appendLevels(point, out);
  out += ",\"parameters\":";
  writer->appendParameters(point, out);
  out += ",\"point\":\"";
  out += writer->id(point);
  out += '"';
  if (!unavailable.empty()) out += ",\"unavailable\":" + base::jsonLiteral(unavailable);
  out += '}';
}

bool verify(const check::Program& program, const expand::Selection& selection, diag::Emitter& emitter,
            const check::System* system) {
  const size_t before = emitter.errors();
  // After a syntax error there is nothing to look at, and the error was reported. A file without studies is a
  // library: checking its declarations was all.
  if (program.scopes.empty() || (before > 0 && program.studies.empty())) return false;
  const bool library = program.studies.empty() && !selection.study && check::declaresAnything(program);
  if (library) return true;
  for (const check::Study* study : expand::chosenStudies(program, selection, emitter))
    if (study->valid) Preparer{program, *study, system, emitter}.verify(selection);
  return emitter.errors() == before;
}

}  // namespace expc::points
