#include "compiler/points/survey.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/points/lints.h"
#include "runtime/plan/json.h"

namespace expc::points {
namespace {

constexpr uint64_t kMaxJudged = 5'000'000;  // so many combinations are looked at in any case

EXPC_DIAGNOSTIC(TooManyPoints, Error, "the study '{0}' has more than {1} {2}");
EXPC_DIAGNOSTIC(MissingArgument, Error, "'{0}' needs a value for {1}");

/// A parameter that names a path somewhere.
struct PathParameter {
  unsigned index = 0;
  std::vector<const check::Value*> values;  // those of its factor's levels, then each workload's argument
  size_t levels = 0;
  std::vector<char> read;  // by value

  void collect(const check::Study& study, std::vector<std::string>& paths) const {
    for (size_t i = 0; i < values.size(); ++i)
      if (read[i] && values[i]) collectPaths(*values[i], study.workload->parameters[index].type, paths);
  }
};

/// Where a workload may have a parameter without any value: its factor is not active everywhere, and it has neither an
/// argument nor a default.
struct Risk {
  unsigned use = 0, factor = 0, parameter = 0;
};

struct Surveyor {
  const expand::Space& space;
  Machine& machine;
  PointWriter* writer;
  const check::Study& study = space.study();
  std::vector<PathParameter> paths = {};
  std::vector<Risk> risks = {};
  std::vector<Question> questions = {};
  std::vector<Partner> values = {};  // by comparison, at the point in hand
  Survey survey{space};
  const Question* failed = nullptr;
  std::vector<unsigned> failed_at = {};

  /// Nothing after a report. With a writer the ids are summed up.
  std::optional<Survey> run(diag::Emitter& emitter) {
    prepare();
    using enum expand::Space::End;
    expand::Walk walk =
        expand::walk(space, {.count_removed = true}, [&](expand::Levels point) { return visit(point); });
    if (walk.end == TooMany) reportTooMany(study, expand::kMaxPoints, walk.exhausted, emitter);
    if (walk.end == Failed) space.reportFailure(emitter);
    if (walk.end == Stopped) failed ? failed->reportFailure(failed_at, emitter) : reportMissing(emitter);
    if (walk.end != Done) return std::nullopt;
    survey.product = walk.product;
    for (const PathParameter& parameter : paths) parameter.collect(study, survey.data_paths);
    survey.removed = std::move(walk.removed);
    return std::move(survey);
  }

  void prepare() {
    survey.comparisons.resize(study.comparisons.size());
    values.resize(study.comparisons.size());
    for (const check::Criterion* criterion : space.selected().criteria) {
      questions.emplace_back(space, *criterion, machine);
      Survey::OfCriterion& of = survey.criteria.emplace_back(*criterion, space);
      for (const check::Factor& factor : study.factors)
        of.asked.emplace_back(factor.levels.size(), Survey::OfCriterion::Never);
    }
    for (unsigned use = 0; use < study.uses.size(); ++use)
      for (unsigned parameter = 0; parameter < study.workload->parameters.size(); ++parameter)
        if (space.when(parameter) && study.uses[use].parameter_of[parameter] >= 0 &&
            (study.uses[use].argument_ranges[parameter].isValid() || space.selected().given_at[parameter].isValid()))
          survey.idle.emplace_back(use, parameter);
    preparePaths();
    for (unsigned index = 0; index < study.factors.size(); ++index)
      for (unsigned parameter : study.factors[index].parameters)
        for (unsigned use = 0; use < study.uses.size(); ++use)
          if (study.factors[index].active && study.uses[use].parameter_of[parameter] >= 0 &&
              !space.selected().arguments[use][parameter])
            risks.push_back({use, index, parameter});
  }

  void preparePaths() {
    for (unsigned i = 0; i < study.workload->parameters.size(); ++i) {
      PathParameter parameter{i, space.varied(i), 0, {}};
      parameter.levels = parameter.values.size();
      for (const auto& arguments : space.selected().arguments)
        parameter.values.push_back(arguments[i] ? &*arguments[i] : nullptr);
      parameter.read.assign(parameter.values.size(), true);
      std::vector<std::string> any;
      parameter.collect(study, any);
      parameter.read.assign(parameter.values.size(), false);
      if (!any.empty()) paths.push_back(std::move(parameter));
    }
  }

  bool active(unsigned parameter, expand::Levels point) const {
    const expand::Condition* when = space.when(parameter);
    return !when || when->holds(point);
  }

  /// What has no value at a point, or null.
  const Risk* missing(expand::Levels point) const {
    const auto found = std::ranges::find_if(risks, [&](const Risk& risk) {
      return point[risk.factor] == expand::kAbsent && space.use(point) == risk.use && active(risk.parameter, point);
    });
    return found == risks.end() ? nullptr : &*found;
  }

  void reportMissing(diag::Emitter& emitter) const {
    const Risk& risk = *missing(failed_at);
    const check::Parameter& parameter = study.workload->parameters[risk.parameter];
    emitter
        .build(study.factors[risk.factor].range, MissingArgument, study.uses[risk.use].workload->name,
               fmt::format("'{}'", parameter.name))
        .note({}, "at {} the factor is not active, and the workload still has the parameter",
              expand::labelOf(study, failed_at))
        .note(parameter.range, "give it a default, or a 'when' that says where the workload has it")
        .emit();
  }

  void readPaths(expand::Levels point) {
    for (PathParameter& parameter : paths) {
      if (!active(parameter.index, point)) continue;
      const int factor = study.factor_of[parameter.index];
      const unsigned level = factor < 0 ? expand::kAbsent : point[factor];
      parameter.read[level < expand::kOpen ? level : parameter.levels + space.use(point)] = true;
    }
  }

  /// Ends the walk at a point that is reported.
  bool stop(expand::Levels point) {
    failed_at.assign(point.begin(), point.end());
    return false;
  }

  bool visit(expand::Levels point) {
    if (missing(point)) return stop(point);
    ++survey.points;
    survey.seen.add(point);
    readPaths(point);
    if (!survey.idle.empty())
      std::erase_if(survey.idle, [&](const auto& given) {
        return space.use(point) == given.first && space.when(given.second)->holds(point);
      });
    bool runs = machine.unavailable(point).empty();
    survey.available += runs;
    survey.expected_infeasible += runs && !machine.expectedInfeasible(point).empty();
    if (writer) survey.ids.add(writer->hash(point));
    for (unsigned i = 0; i < values.size(); ++i) compare(i, point);
    static const Partner kNone;
    for (size_t i = 0; i < questions.size(); ++i) {
      const auto compared = questions[i].comparison;
      const auto answer = questions[i].at(point, compared ? values[compared - study.comparisons.data()] : kNone);
      if (answer == Question::Answer::Failed) {
        failed = &questions[i];
        return stop(point);
      }
      if (answer != Question::Answer::No) count(i, point, answer);
    }
    return true;
  }

  void compare(unsigned index, expand::Levels point) {
    const check::Comparison& comparison = study.comparisons[index];
    Survey::OfComparison& of = survey.comparisons[index];
    const Partner& value = values[index] = comparedAt(space, comparison, point);
    if (value.found == Partner::Found::None) ++of.without, ++of.reasons[value.missing];
    if (value.found == Partner::Found::Several && ++of.several == 1) of.example.assign(point.begin(), point.end());
    if (value.found != Partner::Found::One) return;
    ++of.pairs;
    if (!machine.runs(&comparison, point)) return;
    ++of.cells;
    of.infeasible += !machine.infeasible(&comparison, point).why.empty();
  }

  static void mark(Survey::OfCriterion& of, expand::Levels point, bool once) {
    using enum Survey::OfCriterion::Asked;
    for (size_t factor = 0; factor < point.size(); ++factor)
      if (point[factor] != expand::kAbsent)
        if (auto& asked = of.asked[factor][point[factor]]; asked != Once) asked = once ? Once : OnlyDropped;
  }

  void count(size_t index, expand::Levels point, Question::Answer answer) {
    using enum Question::Answer;
    Survey::OfCriterion& of = survey.criteria[index];
    mark(of, point, answer != Dropped);
    if (answer == Unpublished && ++of.unpublished == 1) of.example.assign(point.begin(), point.end());
    of.unfit += answer == Unfit;
    if (answer == Unavailable || answer == Cell) of.shape.add(point);
    if (answer != Cell) return;
    ++of.cells;
    of.seen.add(point);
    const Machine::Infeasible found = machine.infeasible(questions[index].comparison, point);
    if (found.why.empty() || ++of.infeasible > 1) return;
    of.estimate = fmt::format("at {} {}", expand::labelOf(study, found.point), found.why);
    of.estimate_range = found.range;
  }
};

/// One study under its selections; each is looked at once.
struct Preparer {
  const check::Program& program;
  const check::Study& study;
  const check::System* system;
  diag::Emitter& emitter;
  Reported reported = {};

  /// The unrestricted study: its points, rules, pairs and design. Null after an error that leaves nothing to look at.
  std::unique_ptr<Prepared> whole(bool ids) {
    const size_t errors = emitter.errors();
    auto prepared = look({study.name, {}, {}}, select::Selected::whole(study), ids);
    if (!prepared) return nullptr;
    const expand::Space& space = *prepared->space;
    const Survey& survey = *prepared->survey;
    if (survey.points == 0) return lintEmpty(space, "", study.range, emitter), nullptr;
    lintGrid(space, survey.seen, emitter);
    lintIdle(space, survey, true, emitter);
    lintNothingLearned(space, true, emitter);
    lintPairs(space, survey, *program.sources, emitter);
    lintCriteria(space, survey, emitter);
    lintControls(space, emitter);
    lintSamePoints(space, emitter);
    lintPublished(space, survey, emitter);
    lintEffective(*prepared);
    if (emitter.errors() == errors) lintSomePairs(space, survey, *program.sources, emitter);
    return prepared;
  }

  /// The criteria that a preset adds, on all levels: only where none of them has a point is it a mistake.
  void added(const check::Change& preset) {
    if (preset.criteria.empty()) return;
    auto selected = select::Selected::whole(study);
    selected.criteria.clear();
    check::Change change;
    change.assigned = preset.assigned;
    selected.apply(change, emitter);
    for (const check::Criterion& criterion : preset.criteria) selected.criteria.push_back(&criterion);
    auto prepared = look({}, std::move(selected), false);
    if (!prepared || prepared->survey->points == 0) return;
    lintCriteria(*prepared->space, *prepared->survey, emitter);
    lintPublished(*prepared->space, *prepared->survey, emitter);
  }

  /// A restricted one; `range` is what restricts it.
  std::unique_ptr<Prepared> selected(const select::Selection& selection, select::Selected selected, source::Range range,
                                     bool ids) {
    auto prepared = look(selection, std::move(selected), ids);
    if (!prepared) return nullptr;
    if (prepared->survey->points == 0)
      return lintEmpty(*prepared->space, selection.describe(), range, emitter), nullptr;
    lintIdle(*prepared->space, *prepared->survey, false, emitter);
    lintNothingLearned(*prepared->space, false, emitter);
    lintEffective(*prepared);
    return prepared;
  }

  /// Every preset alone, then the selection if there is one.
  void verify(const select::Selection& selection) {
    if (!whole(false)) return;
    const auto alone = [&](const select::Selection& one, source::Range range) {
      if (auto changed = select::select(program, study, one, emitter)) selected(one, std::move(*changed), range, false);
    };
    for (const check::Change& preset : study.presets) added(preset);
    for (const check::Change& preset : study.presets) alone({study.name, {preset.name}, {}}, preset.range);
    if (!selection.plain()) alone(selection, {});
  }

  std::unique_ptr<Prepared> look(select::Selection selection, select::Selected selected, bool ids) {
    auto prepared = std::make_unique<Prepared>(Prepared{program, system, std::move(selection), std::move(selected)});
    prepared->space = expand::Space::compile(prepared->selected, emitter);
    if (!prepared->space) return nullptr;
    const expand::Space& space = *prepared->space;
    prepared->machine = std::make_unique<Machine>(space, system, program.lookup);
    prepared->writer = std::make_unique<PointWriter>(space);
    prepared->survey = Surveyor{space, *prepared->machine, ids ? prepared->writer.get() : nullptr}.run(emitter);
    return prepared->survey ? std::move(prepared) : nullptr;
  }

  /// What depends on the design and the machine, for the study and for each selection of it.
  void lintEffective(const Prepared& prepared) {
    lintDesign(*prepared.space, *prepared.survey, prepared.selection.describe(), reported, emitter);
    if (system) lintInfeasible(*prepared.space, *prepared.survey, *system, reported, emitter);
  }
};

}  // namespace

void reportTooMany(const check::Study& study, uint64_t most, bool exhausted, diag::Emitter& emitter) {
  emitter
      .build(study.range, TooManyPoints, study.name, exhausted ? kMaxJudged : most,
             exhausted ? "combinations that its rules must judge one by one" : "points")
      .note({}, "restrict its factors with 'only' in a preset, with -D, or with rules over the first factors")
      .emit();
}

std::unique_ptr<Prepared> Prepared::of(const check::Program& program, const check::Study& study,
                                       const select::Selection& selection, const check::System* system,
                                       diag::Emitter& emitter) {
  if (!study.valid) return nullptr;
  const size_t before = emitter.errors();
  // What the system says of the whole study does not concern a selection of it.
  Preparer unrestricted{program, study, selection.plain() ? system : nullptr, emitter};
  auto prepared = unrestricted.whole(selection.plain());
  auto selected = select::select(program, study, selection, emitter);
  if (!prepared || !selected) return nullptr;
  for (const std::string& name : selection.presets) unrestricted.added(*study.findPreset(name));
  if (!selection.plain())
    prepared = Preparer{program, study, system, emitter}.selected(selection, std::move(*selected), {}, true);
  return emitter.errors() == before ? std::move(prepared) : nullptr;
}

std::vector<std::unique_ptr<Prepared>> Prepared::all(const check::Program& program, const select::Selection& selection,
                                                     const check::System* system, diag::Emitter& emitter) {
  std::vector<std::unique_ptr<Prepared>> all;
  for (const check::Study* study : select::chosenStudies(program, selection, emitter))
    if (auto one = of(program, *study, selection, system, emitter)) all.push_back(std::move(one));
  return all;
}

std::unique_ptr<expand::Condition> Prepared::condition(const std::string& where, diag::Emitter& emitter) const {
  check::FormulaPtr formula = select::resolveCondition(program, study(), "--where", where, emitter);
  return formula ? std::make_unique<expand::Condition>(*space, std::move(formula), expand::View::Study) : nullptr;
}

void Prepared::line(expand::Levels point, std::string& out) {
  out = "{";
  auto text = [&](const char* name, const std::string& why) {
    if (!why.empty()) out += fmt::format("\"{}\":{},", name, plan::canonicalJson(plan::jsonText(why)));
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
  if (!unavailable.empty()) out += ",\"unavailable\":" + plan::canonicalJson(plan::jsonText(unavailable));
  out += '}';
}

bool verify(const check::Program& program, const select::Selection& selection, diag::Emitter& emitter,
            const check::System* system) {
  const size_t before = emitter.errors();
  // After a syntax error there is nothing to look at, and that was said.
  if (program.scopes.empty() || (before > 0 && program.studies.empty())) return false;
  const bool library = program.studies.empty() && !selection.study && check::declaresAnything(program);
  if (library) return true;
  for (const check::Study* study : select::chosenStudies(program, selection, emitter))
    if (study->valid) Preparer{program, *study, system, emitter}.verify(selection);
  return emitter.errors() == before;
}

}  // namespace expc::points
