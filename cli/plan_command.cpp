// `expc plan`: shows every point and trial of a study, what rules removed, and what it costs; lists points that satisfy
// a condition; explains one point; writes and compares locks. Small plans are built whole. Listing, explaining and the
// summary of a large study walk through the points and keep none in memory, since there may be millions.

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <set>

#include "cli/commands.h"
#include "cli/compilation.h"
#include "cli/lock.h"
#include "cli/study_rows.h"
#include "compiler/check/expression.h"
#include "compiler/diag/render.h"
#include "compiler/expand/space.h"
#include "compiler/lower/lower.h"
#include "compiler/points/pairs.h"
#include "runtime/base/failure.h"
#include "runtime/base/format.h"
#include "runtime/base/json.h"
#include "runtime/base/llvm.h"
#include "runtime/base/printable.h"
#include "runtime/base/text.h"
#include "runtime/engine/engine.h"
#include "runtime/report/texts.h"
#include "runtime/simulate/diagnosis.h"

namespace expc::cli {
namespace {

// ---- --explain

EXPC_DIAGNOSTIC(BadPoint, "'{0}' is not a point of the study: {1}");

/// Whether a text can be the beginning of a point's id: up to 16 hexadecimal digits.
bool looksLikeId(const std::string& text) {
  return !text.empty() && text.size() <= 16 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

/// Says where each value of a point comes from, or which rule or choice removed it.
class Explainer {
 public:
  explicit Explainer(points::Prepared& prepared)
      : prepared_(prepared), study_(prepared.study()), sources_(*prepared.program.sources) {}

  /// Returns the points whose ids begin with `id`, at most two: one is the answer, two are ambiguous.
  std::vector<std::vector<unsigned>> withId(const std::string& id) {
    std::vector<std::vector<unsigned>> found;
    prepared_.space->forEach([&](expand::Levels point) {
      if (prepared_.writer->id(point).substr(0, id.size()) == id) found.emplace_back(point.begin(), point.end());
      return found.size() < 2;
    });
    return found;
  }

  /// Completes named levels to a point: kAbsent for factors that are not active. Reports a factor that is active but
  /// not named, or named but not active, and returns nothing.
  std::optional<std::vector<unsigned>> complete(const std::vector<std::optional<unsigned>>& named,
                                                const std::string& text, diag::Emitter& emitter) {
    std::vector<unsigned> levels(study_.factors.size(), expand::kOpen);
    // Factors are visited after those that decide whether they are active.
    for (unsigned factor : prepared_.space->order()) {
      const bool active = prepared_.space->active(factor, levels);
      const std::string& name = study_.factors[factor].name;
      if (active && !named[factor]) {
        emitter.emit({}, BadPoint, text, fmt::format("it gives no level of '{}'", name));
        return std::nullopt;
      }
      if (!active && named[factor]) {
        emitter.emit({}, BadPoint, text, fmt::format("'{}' is not active there", name))
            .note(study_.factors[factor].range, "the factor is declared here");
        return std::nullopt;
      }
      levels[factor] = active ? *named[factor] : expand::kAbsent;
    }
    return levels;
  }

  /// Describes a point of the plan: each parameter with its value and where that comes from, then what keeps the point
  /// from running here.
  std::string there(expand::Levels point) {
    std::string text = fmt::format("point {}  {}\n", prepared_.writer->id(point), expand::labelOf(study_, point));
    expand::Assignment at(prepared_.selected);
    at.set(point);
    at.resolve();
    const check::Use& use = study_.uses[at.use()];
    std::vector<std::pair<std::string, std::string>> rows;
    for (const auto& [i, parameter] : llvm::enumerate(study_.workload->parameters)) {
      if (study_.hasWorkloadFactor() && i > 0 && use.parameter_of[i] < 0) continue;
      const check::Value* value = at.value(i);
      rows.emplace_back(value ? parameter.name + " = " + value->toString() : parameter.name,
                        value ? origin(i, point, use) : "not active: " + when(i));
    }
    size_t width = 0;
    // Columns are aligned up to a width of 44, so that one long value does not push all others apart.
    for (const auto& [left, right] : rows) width = std::max(width, std::min<size_t>(left.size(), 44));
    for (const auto& [left, right] : rows) text += fmt::format("  {:{}}  {}\n", left, width, right);
    if (const std::string& why = prepared_.machine->unavailable(point); !why.empty())
      text += fmt::format("  cannot run here: {}\n", why);
    if (const std::string why = prepared_.machine->expectedInfeasible(point); !why.empty())
      text += fmt::format("  expected infeasible: {}\n", why);
    return text;
  }

  /// Describes levels that are no point: the choice, factor or rule that removed them, with the values on which a rule
  /// depends.
  std::string missing(expand::Levels levels, const expand::Obstacle& obstacle) {
    std::string text = fmt::format("no point  {}\n", expand::labelOf(study_, levels));
    const check::Factor& factor = study_.factors[obstacle.factor];
    switch (obstacle.kind) {
      case expand::Obstacle::Kind::LeftOut:
        return text + fmt::format("  the selection leaves out {} = {}\n", factor.name,
                                  factor.levels[levels[obstacle.factor]].label);
      case expand::Obstacle::Kind::Inactive:
      case expand::Obstacle::Kind::Unchosen:
        return text + fmt::format("  '{}' {} there ({})\n", factor.name,
                                  obstacle.kind == expand::Obstacle::Kind::Inactive ? "is not active" : "needs a level",
                                  place(factor.range));
      case expand::Obstacle::Kind::Rule:
        break;
    }
    const check::Rule& rule = study_.rules[obstacle.rule];
    text += fmt::format("  the rule {} removes it ({}): {} {}\n", points::ruleName(rule, sources_), place(rule.range),
                        rule.kind == ast::RuleKind::Require ? "require" : "exclude", rule.text);
    if (!rule.because.empty()) text += fmt::format("  because \"{}\"\n", rule.because);
    expand::Assignment at(prepared_.selected);
    at.set(levels);
    at.resolve();
    for (unsigned parameter : rule.parameters) {
      const check::Value* value = at.value(parameter);
      text += fmt::format("    {} {}\n", study_.parameter(parameter).name,
                          value ? "= " + value->toString() : "is not active");
    }
    return text;
  }

 private:
  std::string place(source::Range range) const { return range.isValid() ? diag::place(sources_, range) : ""; }

  /// Returns where a parameter's value comes from, in the order of precedence: factor, preset or -D, argument, default.
  std::string origin(unsigned parameter, expand::Levels point, const check::Use& use) const {
    const expand::Selected& selected = prepared_.selected;
    const int factor = study_.factor_of[parameter];
    if (factor >= 0 && point[factor] != expand::kAbsent)
      return fmt::format("factor, {}", place(study_.factors[factor].range));
    if (factor < 0 && !selected.given_by[parameter].empty()) {
      const std::string& name = selected.given_by[parameter];
      const bool preset = study_.findPreset(name) != nullptr;
      return preset ? fmt::format("preset {}, {}", name, place(selected.given_at[parameter])) : "-D " + name;
    }
    if (factor < 0 && use.argument_ranges[parameter].isValid())
      return fmt::format("argument, {}", place(use.argument_ranges[parameter]));
    const check::Parameter& real = use.workload->parameters[use.parameter_of[parameter]];
    return fmt::format("default of {}, {}", use.workload->name, place(real.range));
  }

  /// Returns why a parameter is not active.
  std::string when(unsigned parameter) const {
    const check::FormulaPtr& when = study_.parameter(parameter).when;
    if (!when) return "its factor is not";
    if (study_.hasWorkloadFactor()) return "by its 'when', or not a parameter of this workload";
    return fmt::format("when {} ({})", source::squeeze(sources_.text(when->range)), place(when->range));
  }

  points::Prepared& prepared_;
  const check::Study& study_;
  const source::SourceManager& sources_;
};

/// Carries out `plan --explain POINT`. If `point` names none of the study, reports that and returns false without
/// printing anything.
bool explainPoint(points::Prepared& prepared, const std::string& point, const Console& console,
                  diag::Emitter& emitter) {
  Explainer explainer(prepared);
  std::vector<unsigned> levels;
  if (looksLikeId(point)) {
    auto found = explainer.withId(point);
    if (found.size() != 1) {
      emitter.emit(
          {}, BadPoint, point,
          found.empty() ? "no id of its points starts with it" : "several ids start with it; write more of it");
      return false;
    }
    levels = std::move(found[0]);
  } else {
    auto named = expand::resolvePoint(prepared.program, prepared.study(), point, emitter);
    auto complete = named ? explainer.complete(*named, point, emitter) : std::nullopt;
    if (!complete) return false;
    levels = std::move(*complete);
  }
  const auto obstacle = prepared.space->whyNot(levels);
  // Labels and reasons are text of the study, so their control characters are shown rather than sent to the terminal.
  return console.print(base::printableLines(obstacle ? explainer.missing(levels, *obstacle) : explainer.there(levels)));
}

// ---- --where, --page, --format jsonl

/// Points on a page, and bytes that are collected before JSON lines are printed.
constexpr uint64_t kPerPage = 50;
constexpr size_t kBuffer = 1 << 16;

/// Returns the line of a point in a list: id, levels, and what keeps it from running.
std::string row(points::Prepared& prepared, expand::Levels point, size_t width) {
  std::string label = expand::labelOf(prepared.study(), point);
  std::string text = fmt::format("  {}  {:{}}", prepared.writer->id(point), label, width);
  const std::string& unavailable = prepared.machine->unavailable(point);
  const std::string infeasible = prepared.machine->expectedInfeasible(point);
  if (!unavailable.empty())
    text += "  not available: " + unavailable;
  else if (!infeasible.empty())
    text += "  expected infeasible: " + infeasible;
  while (text.back() == ' ') text.pop_back();
  return base::printable(text) + "\n";
}

/// Returns the numbers of points and cells that an outline counts but does not list.
report::PlanCounts countsOf(const lower::Outline& outline) {
  return {outline.points,          outline.available,        outline.expected_infeasible, outline.comparison_cells,
          outline.criterion_cells, outline.comparison_unfit, outline.criterion_unfit};
}

/// Carries out `plan --where CONDITION --page N`: prints one page of the points that satisfy the condition, or with
/// JSON lines a header and all of them. Returns false if standard output took no more.
bool listPoints(points::Prepared& prepared, const expand::Condition* where, const PlanOptions& options,
                const Console& console) {
  const bool lines = options.format == Format::JsonLines;
  const uint64_t shown = options.page.value_or(1), first = (shown - 1) * kPerPage;
  std::vector<std::vector<unsigned>> page;
  std::string text, line;
  uint64_t found = 0;
  bool open = true;
  if (lines) {
    const lower::Outline outline = lower::outlineOf(prepared);
    open = console.printRaw(report::planLinesHeader(outline.head, countsOf(outline)) + "\n");
  }
  prepared.space->forEach([&](expand::Levels point) {
    // A condition that has no value at a point does not hold there.
    if (where && !where->holds(point)) return true;
    if (lines) {
      prepared.line(point, line);
      text += line += '\n';
      if (text.size() < kBuffer) return true;
      open = console.printRaw(text);
      text.clear();
    } else if (found >= first && found < first + kPerPage) {
      page.emplace_back(point.begin(), point.end());
    }
    ++found;
    return open;
  });
  // The rest of the buffer; JSON lines have no page.
  if (lines) return open && console.printRaw(text);

  size_t width = 0;
  for (const auto& point : page) width = std::max(width, expand::labelOf(prepared.study(), point).size());
  const uint64_t pages = (found + kPerPage - 1) / kPerPage;
  text = fmt::format("study {}: {} of {} points{}", prepared.study().name, found, prepared.survey->points,
                     options.where ? " satisfy " + *options.where : "");
  if (pages > 1 && shown <= pages) text += fmt::format(", page {} of {}", shown, pages);
  text = base::printable(text) + "\n";
  // A page beyond the last one is no error: the condition may simply leave fewer points.
  if (shown > 1 && shown > pages) text += fmt::format("  there is no page {}: they fill {}\n", shown, pages);
  for (const auto& point : page) text += row(prepared, point, width);
  if (shown < pages) text += fmt::format("  the next ones: --page {}\n", shown + 1);
  return console.print(text);
}

// ---- the plan

/// Above this many points a plan is shown as a summary with pages of points: nobody reads more lines, and its cells
/// take time and memory. Changes since a lock are cut at so many of a kind, unless all are asked for.
constexpr uint64_t kWholePlan = 2000;
constexpr size_t kShownChanges = 20;

/// Options of the quick diagnosis in a plan. A share of 200 studies has a standard error of at most 3.5 % (sqrt(0.25 /
/// 200)), enough to see what a design cannot decide.
const simulate::DiagnosisOptions kQuickly{.studies = 200, .seed = 1, .effects = {}, .larger = false};

/// Makes the lock of the file as it is now, and shows diagnostics.
Expected<json::Value> lockNow(Compilation& compilation, const Console& console) {
  auto lock = makeLock(*compilation.program, true, compilation.emitter);
  // An error that was no diagnostic, such as data that cannot be read, is still to be shown.
  if (showDiagnostics(compilation, console) || lock) return lock;
  consumeError(lock.takeError());
  return ended(kError, "");
}

/// Carries out `plan --lock`.
Exit writeLockFile(const PlanOptions& options, Compilation& compilation, const Console& console) {
  const auto lock = TRY(lockNow(compilation, console));
  const std::string path = lockPath(options.study.file);
  if (Error error = writeLock(path, lock)) return failure("cannot write {}: {}", path, std::move(error));
  return console.finish(fmt::format("wrote {}\n", path));
}

/// Carries out `plan --diff LOCK`.
Exit showChanges(const PlanOptions& options, Compilation& compilation, const Console& console) {
  auto before = TRY(readLock(options.diff));
  const auto after = TRY(lockNow(compilation, console));
  std::string text;
  for (const std::string& line : compareLocks(before, after, options.all_points ? SIZE_MAX : kShownChanges))
    text += line + "\n";
  if (text.empty()) text = fmt::format("nothing changed since {}\n", options.diff);
  return console.finish(text);
}

/// Returns the results that a run on this machine would continue; nothing for another machine. The error says why a run
/// would refuse to start.
Expected<std::optional<Results>> countedHere(const Plan& plan, const PlanOptions& options) {
  // Data must be digested to know which results count. A plan has to be there at once, so this takes at most so long.
  constexpr double kMostSeconds = 5;
  if (options.study.system.value_or("local") != "local") return std::nullopt;
  engine::EngineOptions run;
  TRY(addResources(options.machine, run));
  run.results = options.results;
  return engine::countedNow(plan, run, kMostSeconds);
}

/// Prints a whole plan with cost and expectations. Everything beyond the plan is optional: if a store or rehearsal
/// cannot be read, the plan is still shown. False if standard output took no more, or a run that was asked for could
/// not start.
bool showText(const Plan& plan, const PlanOptions& options, const Console& console) {
  report::PlanExtras extras;
  extras.width = console.width();
  extras.colour = console.colourOut();
  extras.all_points = options.all_points;
  extras.system = options.study.system.value_or("local");
  if (auto here = countedHere(plan, options))
    extras.counted = std::move(*here);
  else
    extras.refused = toString(here.takeError());
  std::vector<std::string> unread;
  if (extras.system == "local" && extras.refused.empty())
    extras.refused = toString(checkRows(plan, std::nullopt, &unread));
  for (const std::string& file : std::set(unread.begin(), unread.end()))
    console.message("note: {} is not checked yet ({} MiB are); a run checks all of it before its first trial", file,
                    kPlannedBytes >> 20);
  // Estimates use the results that a run would continue, else the newest ones. A store that cannot be read is ignored
  // here: `run` and `report` say what is wrong with it.
  std::optional<Results> last;
  if (!extras.counted || extras.counted->trials.empty())
    last = expectedToOptional(storedOf(plan, options.results, !options.machine.null_gpus.empty()));
  const Results none{}, &stored = last ? *last : extras.counted ? *extras.counted : none;
  std::optional<simulate::Diagnosis> diagnosis;
  if (!stored.trials.empty()) diagnosis = simulate::diagnose(plan, simulate::modelOf(plan, stored, {}), kQuickly);
  extras.diagnosis = diagnosis ? &*diagnosis : nullptr;
  engine::EngineOptions run;
  run.results = options.results;
  if (extras.system == "local")
    for (const std::string& line : engine::notGiven(plan, run)) console.message(line);
  const std::optional<rehearsal::Study> rehearsed = rehearsedOf(plan, options.results, console);
  extras.rehearsed = rehearsed ? &*rehearsed : nullptr;
  return console.print(report::planText(plan, extras)) && !(options.can_run && !extras.refused.empty());
}

/// Prints the summary of a plan with too many points to list.
bool showSummary(points::Prepared& prepared, const Console& console) {
  const lower::Outline outline = lower::outlineOf(prepared);
  const report::PlanCounts counts = countsOf(outline);
  report::PlanExtras extras;
  extras.width = console.width();
  extras.colour = console.colourOut();
  extras.counts = &counts;
  return console.print(report::planText(outline.head, extras));
}

/// Prints one study in the form that was asked for. Returns false if standard output took no more, or if --can-run
/// found that a run could not start.
bool showStudy(points::Prepared& prepared, const PlanOptions& options, Compilation& compilation,
               const Console& console) {
  if (options.explain) return explainPoint(prepared, *options.explain, console, compilation.emitter);
  if (options.where || options.page || options.format == Format::JsonLines) {
    const auto where = options.where ? prepared.condition(*options.where, compilation.emitter) : nullptr;
    // A mistake in the condition was reported to the emitter, which decides the exit code later.
    if (options.where && !where) return true;
    return listPoints(prepared, where.get(), options, console);
  }
  if (options.format == Format::Text && prepared.survey->points > kWholePlan && !options.all_points && !options.can_run)
    return showSummary(prepared, console);
  auto plan = lower::planOf(prepared, compilation.emitter);
  if (!plan) return true;
  if (options.format == Format::Text) return showText(*plan, options, console);
  return console.print(base::prettyJson(plan::toJson(*plan)) + "\n");
}

}  // namespace

Exit plan(const PlanOptions& options, const Console& console) {
  Compilation compilation;
  TRY(openWithoutErrors(options.study, console, compilation));
  // A lock of a part of the file would not hold the rest to anything.
  const bool restricted = options.study.study || !options.study.plain();
  if (restricted && (options.lock || !options.diff.empty()))
    return usage("a lock covers the whole file: leave out --study, --preset and -D");
  // Nothing else looks whether a run could start, and an exit code of 0 would say that it could.
  if (options.can_run && (options.format != Format::Text || options.study.system.value_or("local") != "local"))
    return usage(
        "--can-run is about a run on this machine, and needs the plan as text: leave out --format and --system");
  if (options.lock) return writeLockFile(options, compilation, console);
  if (!options.diff.empty()) return showChanges(options, compilation, console);
  auto system = TRY(findSystem(*compilation.program, options.study.system.value_or("local"), options.machine));
  const size_t studies = options.study.study ? 1 : compilation.program->studies.size();
  if (options.format == Format::Json) TRY(oneStudy(options.study, studies, "a plan"));
  const auto prepared = points::Prepared::all(*compilation.program, options.study, &system, compilation.emitter);
  const bool checked = compilation.emitter.errors() == 0;
  bool good = checked;
  // Every study is shown, also behind one that cannot run.
  for (const auto& one : prepared)
    if (checked) good = showStudy(*one, options, compilation, console) && good;
  if (!showDiagnostics(compilation, console)) return compilation.code();
  return good ? kSuccess : kError;
}

}  // namespace expc::cli
