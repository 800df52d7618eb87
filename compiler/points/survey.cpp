// The walk. `prepare` collects what can be known without points (which parameters hold paths, which may lack a
// value, which were given in vain), so that `visit` does only look-ups for each point.

#include "compiler/points/survey.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>

#include "runtime/base/format.h"

namespace expc::points {
namespace {

// The number that E0404 names when a walk gave up at its `most_steps`: a round lower estimate of the
// combinations that rules have judged until then.
constexpr uint64_t kMaxJudged = 5'000'000;

EXPC_DIAGNOSTIC(TooManyPoints, "the study '{0}' has more than {1} {2}");
EXPC_DIAGNOSTIC(MissingArgument, "'{0}' needs a value for {1}");

/// A parameter whose values hold paths; `read` marks the values that some point uses.
struct PathParameter {
  unsigned index = 0;
  /// The values of its factor's levels, then each workload's argument.
  std::vector<const check::Value*> values;
  /// How many of `values` are levels.
  size_t levels = 0;
  /// Parallel to `values`.
  std::vector<char> read;

  void collect(const check::Study& study, std::vector<std::string>& paths) const {
    for (size_t i = 0; i < values.size(); ++i)
      if (read[i] && values[i]) collectPaths(*values[i], study.parameter(index).type, paths);
  }
};

/// A parameter that may lack any value at some point: its factor is not active everywhere, and it has neither
/// an argument nor a default.
struct Risk {
  unsigned use = 0, factor = 0, parameter = 0;
};

/// One survey under way.
struct Surveyor {
  const Space& space;
  Machine& machine;
  PointWriter* writer;
  uint64_t most_points;
  const check::Study& study = space.study();
  std::vector<PathParameter> paths = {};
  std::vector<Risk> risks = {};
  /// For each criterion one for each of its assertions.
  std::vector<std::vector<Question>> questions = {};
  /// For each comparison its partner at the current point; criteria read it.
  std::vector<Partner> values = {};
  /// For each aggregate its first group: the levels of its parts of the aggregated factors, and where it is.
  struct FirstGroup {
    std::vector<std::vector<unsigned>> parts;
    std::vector<unsigned> at;
  };
  std::map<unsigned, FirstGroup> first_groups = {};
  Survey survey{space};
  /// The question whose `where` had no value, and where the walk stopped.
  const Question* failed = nullptr;
  std::vector<unsigned> failed_at = {};

  /// Nothing after a report.
  std::optional<Survey> run(diag::Emitter& emitter) {
    prepare();
    using enum Space::End;
    expand::Walk walk = expand::walk(space, {.count_removed = true, .most_points = most_points},
                                     [&](Levels point) { return visit(point); });
    if (walk.end == TooMany) reportTooMany(study, most_points, walk.exhausted, emitter);
    if (walk.end == Failed) space.reportFailure(emitter);
    if (walk.end == Stopped) failed ? failed->reportFailure(failed_at, emitter) : reportMissing(emitter);
    if (walk.end != Done) return std::nullopt;
    survey.product = walk.product;
    for (const PathParameter& parameter : paths) parameter.collect(study, survey.data_paths);
    survey.removed = std::move(walk.removed);
    for (size_t i = 0; i < survey.criteria.size(); ++i) join(*space.selected().criteria[i], survey.criteria[i]);
    return std::move(survey);
  }

  /// Counts the cells of a criterion once all points are known.
  static void join(const check::Criterion& criterion, Survey::OfCriterion& of) {
    if (!criterion.composed()) {
      of.cells = of.assertions[0].cells;
      of.infeasible = criterion.infeasible() ? 0 : of.assertions[0].infeasible;
      return;
    }
    std::vector<JoinedCell> all, runnable;
    for (Survey::OfAssertion& assertion : of.assertions) {
      std::ranges::copy_if(assertion.points, std::back_inserter(runnable), &JoinedCell::runs);
      std::ranges::move(std::exchange(assertion.points, {}), std::back_inserter(all));
    }
    of.joined.emplace(criterion, std::move(all));
    for (const JoinedCell& cell : JoinedClaim(criterion, std::move(runnable)).cells()) {
      ++of.cells;
      of.infeasible += !cell.fits;
    }
  }

  /// Prepares everything that does not depend on the point.
  void prepare() {
    survey.comparisons.resize(study.comparisons.size());
    values.resize(study.comparisons.size());
    for (const check::Criterion* criterion : space.selected().criteria) {
      std::vector<Question>& asked = questions.emplace_back();
      Survey::OfCriterion& all = survey.criteria.emplace_back();
      for (const check::Assertion& assertion : criterion->assertions) {
        asked.emplace_back(space, assertion, machine);
        Survey::OfAssertion& of = all.assertions.emplace_back(assertion, space);
        for (const check::Factor& factor : study.factors)
          of.asked.emplace_back(factor.levels.size(), Survey::OfAssertion::Never);
      }
    }
    // Every value that was given to a conditional parameter is idle until a point uses it.
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

  /// Finds the parameters that hold paths, by collecting all their values once as if every one was read.
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

  /// Whether the workload has a parameter at a point.
  bool active(unsigned parameter, Levels point) const {
    const expand::Condition* when = space.when(parameter);
    return !when || when->holds(point);
  }

  /// The first parameter without a value at the point, or null.
  const Risk* missing(Levels point) const {
    const auto found = std::ranges::find_if(risks, [&](const Risk& risk) {
      return point[risk.factor] == expand::kAbsent && space.use(point) == risk.use && active(risk.parameter, point);
    });
    return found == risks.end() ? nullptr : &*found;
  }

  /// Reports the parameter that stopped the walk (MissingArgument).
  void reportMissing(diag::Emitter& emitter) const {
    const Risk& risk = *missing(failed_at);
    const check::Parameter& parameter = study.parameter(risk.parameter);
    emitter
        .emit(study.factors[risk.factor].range, MissingArgument, study.uses[risk.use].workload->name,
              fmt::format("'{}'", parameter.name))
        .note("at {} the factor is inactive, but the workload still has the parameter",
              expand::labelOf(study, failed_at))
        .note(parameter.range, "give it a default, or a 'when' for where the workload has it");
  }

  /// Marks the paths that the point reads.
  void readPaths(Levels point) {
    for (PathParameter& parameter : paths) {
      if (!active(parameter.index, point)) continue;
      const int factor = study.factor_of[parameter.index];
      const unsigned level = factor < 0 ? expand::kAbsent : point[factor];
      parameter.read[level < expand::kOpen ? level : parameter.levels + space.use(point)] = true;
    }
  }

  /// Ends the walk at a point that is to be reported.
  bool stop(Levels point) {
    failed_at.assign(point.begin(), point.end());
    return false;
  }

  /// Counts one point; false stops the walk.
  bool visit(Levels point) {
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
    for (size_t i = 0; i < questions.size(); ++i)
      for (auto [a, question] : llvm::enumerate(questions[i])) {
        const auto compared = question.comparison;
        const auto answer = question.at(point, compared ? values[compared - study.comparisons.data()] : kNone);
        if (answer == Question::Answer::Failed) {
          failed = &question;
          return stop(point);
        }
        if (answer != Question::Answer::No) count(i, a, point, answer);
      }
    return true;
  }

  /// Counts one comparison at a point, and keeps its partner for the criteria.
  void compare(unsigned index, Levels point) {
    const check::Comparison& comparison = study.comparisons[index];
    Survey::OfComparison& of = survey.comparisons[index];
    const Partner& value = values[index] = Compared{space, comparison, point}.value();
    if (value.found == Partner::Found::None) ++of.without, ++of.reasons[value.missing];
    if (value.found == Partner::Found::Several && ++of.several == 1) of.example.assign(point.begin(), point.end());
    if (!value) return;
    if (comparison.aggregates() && comparison.function != check::Comparison::Function::OfProcess)
      aggregate(index, point);
    ++of.pairs;
    if (!machine.runs(&comparison, point)) return;
    ++of.cells;
    of.infeasible += !machine.infeasible(&comparison, point).why.empty();
  }

  /// Counts what an aggregate's group lacks, and compares its parts with those of the first group.
  void aggregate(unsigned index, Levels point) {
    const check::Comparison& comparison = study.comparisons[index];
    Survey::OfComparison& of = survey.comparisons[index];
    const Parts parts = Compared{space, comparison, point}.parts();
    for (const auto& [missing, count] : parts.missing) of.without += count, of.reasons[missing] += count;
    FirstGroup group{{}, {point.begin(), point.end()}};
    for (unsigned factor = 0; factor < point.size(); ++factor)
      if (comparison.lacks(factor)) group.at[factor] = expand::kOpen;
    for (const std::vector<unsigned>& part : parts.points) {
      std::vector<unsigned>& levels = group.parts.emplace_back();
      for (const unsigned factor : comparison.aggregated) levels.push_back(part[factor]);
      if (comparison.weight && of.weightless.empty() && !(Compared{space, comparison, part}.weight().value_or(0) > 0))
        of.weightless = part;
    }
    const auto [first, fresh] = first_groups.try_emplace(index, group);
    if (!fresh && of.uneven.empty() && first->second.parts != group.parts) of.uneven = {first->second.at, group.at};
  }

  /// Records that points with these levels are asked about, or only dropped.
  static void mark(Survey::OfAssertion& of, Levels point, bool once) {
    using enum Survey::OfAssertion::Asked;
    for (size_t factor = 0; factor < point.size(); ++factor)
      if (point[factor] != expand::kAbsent)
        if (auto& asked = of.asked[factor][point[factor]]; asked != Once) asked = once ? Once : OnlyDropped;
  }

  /// Counts one assertion at a point that it asks about.
  void count(size_t index, size_t assertion, Levels point, Question::Answer answer) {
    using enum Question::Answer;
    const check::Criterion& criterion = *space.selected().criteria[index];
    Survey::OfAssertion& of = survey.criteria[index].assertions[assertion];
    const check::Comparison* comparison = questions[index][assertion].comparison;
    const auto take = [&](Levels part) {
      mark(of, part, answer != Dropped);
      if (answer == Cell) of.seen.add(part);
    };
    forEachRead(space, comparison, point, take, /*treated=*/true);
    if (answer != Dropped) of.reading.add(point);
    if (answer == Unpublished && ++of.unpublished == 1) of.example.assign(point.begin(), point.end());
    of.unfit += answer == Unfit;
    if (answer == Unavailable || answer == Cell) of.shape.add(point);
    const bool joins = criterion.composed() && (answer == Unavailable || answer == Cell);
    if (joins) of.points.push_back({unsigned(assertion), {point.begin(), point.end()}, answer == Cell});
    if (answer != Cell) return;
    ++of.cells;
    const Machine::Infeasible found = machine.infeasible(comparison, point);
    if (found.why.empty()) return;
    if (joins) of.points.back().fits = criterion.assertions[assertion].infeasible;
    if (++of.infeasible > 1) return;
    of.estimate = fmt::format("at {} {}", expand::labelOf(study, found.point), found.why);
    of.estimate_range = found.range;
  }
};

}  // namespace

void reportTooMany(const check::Study& study, uint64_t most, bool exhausted, diag::Emitter& emitter) {
  emitter
      .emit(study.range, TooManyPoints, study.name, exhausted ? kMaxJudged : most,
            exhausted ? "combinations that its rules must judge one by one" : "points")
      .note("restrict its factors with 'only' in a preset, with -D, or with rules over the first factors");
}

std::optional<Survey> survey(const Space& space, Machine& machine, PointWriter* writer, uint64_t most_points,
                             diag::Emitter& emitter) {
  return Surveyor{space, machine, writer, most_points}.run(emitter);
}

}  // namespace expc::points
