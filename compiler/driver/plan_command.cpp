#include <fmt/format.h>

#include "compiler/driver/commands.h"
#include "compiler/driver/compilation.h"
#include "compiler/driver/diagnosis.h"
#include "compiler/driver/exit_codes.h"
#include "compiler/driver/lock.h"
#include "compiler/driver/plan_modes.h"
#include "compiler/driver/systems.h"
#include "compiler/driver/verdicts.h"
#include "runtime/engine/engine.h"
#include "runtime/plan/json.h"
#include "runtime/report/plan_text.h"
#include "runtime/simulate/diagnosis.h"

namespace expc::driver {
namespace {

/// Plans with more points are shown without cells: a summary, and pages of points.
constexpr uint64_t kWholePlan = 2000;
constexpr size_t kShownChanges = 20;

/// A share of 200 studies has a standard error of at most 3.5 %: enough to see what a design cannot decide.
const simulate::DiagnosisOptions kQuickly{.studies = 200, .seed = 1, .effects = {}, .larger = false};

/// The lock of the file as it is; nothing after saying what is wrong.
std::optional<llvm::json::Value> lockNow(Compilation& compilation, const Console& console) {
  llvm::Expected<llvm::json::Value> lock = makeLock(*compilation.program, true, compilation.emitter);
  const bool good = showDiagnostics(compilation, console);
  if (lock) return std::move(*lock);
  if (good)
    console.error(lock.takeError());
  else
    llvm::consumeError(lock.takeError());
  return std::nullopt;
}

int writeLockFile(const PlanOptions& options, Compilation& compilation, const Console& console) {
  const auto lock = lockNow(compilation, console);
  if (!lock) return kError;
  const std::string path = lockPath(options.study.file);
  if (llvm::Error error = writeLock(path, *lock))
    return console.error(fmt::format("cannot write {}: {}", path, llvm::toString(std::move(error))));
  return console.finish(fmt::format("wrote {}\n", path));
}

int showChanges(const PlanOptions& options, Compilation& compilation, const Console& console) {
  llvm::Expected<llvm::json::Value> before = readLock(options.diff);
  if (!before) return console.error(before.takeError());
  const auto after = lockNow(compilation, console);
  if (!after) return kError;
  std::string text;
  for (const std::string& line : compareLocks(*before, *after, options.all_points ? SIZE_MAX : kShownChanges))
    text += line + "\n";
  if (text.empty()) text = fmt::format("nothing changed since {}\n", options.diff);
  return console.finish(text);
}

/// What a run on this machine would go on from; nothing of another one.
llvm::Expected<std::optional<store::Results>> countedHere(const plan::Plan& plan, const PlanOptions& options) {
  constexpr double kMostSeconds = 5;  // for data that it reads: a plan is to be there at once
  if (options.study.system.value_or("local") != "local") return std::nullopt;
  auto resources = resourcesOf(options.machine, "");
  if (!resources) return resources.takeError();
  engine::EngineOptions run;
  static_cast<engine::Resources&>(run) = std::move(*resources);
  run.results = options.results;
  return engine::countedNow(plan, run, kMostSeconds);
}

bool showText(const plan::Plan& plan, const PlanOptions& options, const Console& console) {
  report::PlanExtras extras;
  extras.width = console.width();
  extras.colour = console.colourOut();
  extras.all_points = options.all_points;
  extras.system = options.study.system.value_or("local");
  if (auto here = countedHere(plan, options))
    extras.counted = std::move(*here);
  else
    extras.refused = llvm::toString(here.takeError());
  // An estimate is of what a run goes on from, else of what was measured last. It is a courtesy: `run` and `report`
  // tell what is wrong with a store.
  std::optional<store::Results> last;
  if (!extras.counted || extras.counted->trials.empty())
    last = llvm::expectedToOptional(storedOf(plan, options.results, !options.machine.null_gpus.empty()));
  const store::Results none{}, &stored = last ? *last : extras.counted ? *extras.counted : none;
  std::optional<simulate::Diagnosis> diagnosis;
  if (!stored.trials.empty()) diagnosis = simulate::diagnose(plan, simulate::modelOf(plan, stored, {}), kQuickly);
  extras.diagnosis = diagnosis ? &*diagnosis : nullptr;
  const std::optional<rehearsal::Study> rehearsed = rehearsedOf(plan, options.results, console);
  extras.rehearsed = rehearsed ? &*rehearsed : nullptr;
  return console.print(report::planText(plan, extras));
}

bool showSummary(points::Prepared& prepared, const Console& console) {
  const lower::Outline outline = lower::outlineOf(prepared);
  const report::PlanCounts counts = countsOf(outline);
  report::PlanExtras extras;
  extras.width = console.width();
  extras.colour = console.colourOut();
  extras.counts = &counts;
  return console.print(report::planText(outline.head, extras));
}

/// One study in the form that was asked for; false when standard output took no more.
bool showStudy(points::Prepared& prepared, const PlanOptions& options, Compilation& compilation,
               const Console& console) {
  if (options.explain) return explainPoint(prepared, *options.explain, console, compilation.emitter);
  if (options.where || options.page || options.format == PlanFormat::JsonLines) {
    const auto where = options.where ? prepared.condition(*options.where, compilation.emitter) : nullptr;
    if (options.where && !where) return true;
    return listPoints(prepared, where.get(), options, console);
  }
  if (options.format == PlanFormat::Text && prepared.survey().points > kWholePlan && !options.all_points)
    return showSummary(prepared, console);
  auto plan = lower::planOf(prepared, compilation.emitter);
  if (!plan) return true;
  if (options.format == PlanFormat::Text) return showText(*plan, options, console);
  return console.print(plan::prettyJson(plan::toJson(*plan)) + "\n");
}

}  // namespace

int plan(const PlanOptions& options, const Console& console) {
  Compilation compilation;
  if (!openWithoutErrors(options.study, console, compilation)) return kError;
  const bool restricted = options.study.study || !options.study.plain();
  if (restricted && (options.lock || !options.diff.empty()))
    return console.usage("a lock is of the whole file: leave out --study, --preset and -D");
  if (options.lock) return writeLockFile(options, compilation, console);
  if (!options.diff.empty()) return showChanges(options, compilation, console);
  auto system = findSystem(*compilation.program, options.study.system.value_or("local"), options.machine);
  if (!system) return console.error(system.takeError());
  const size_t studies = options.study.study ? 1 : compilation.program->studies.size();
  if (options.format == PlanFormat::Json && studies > 1)
    return console.usage(fmt::format("{} holds {} studies and a plan is of one: choose it with --study NAME",
                                     options.study.file, studies));
  const auto prepared = points::Prepared::all(*compilation.program, options.study, &*system, compilation.emitter);
  bool good = compilation.emitter.errors() == 0;
  for (const auto& one : prepared) good = good && showStudy(*one, options, compilation, console);
  if (!showDiagnostics(compilation, console)) return compilation.code();
  return good ? kSuccess : kError;
}

}  // namespace expc::driver
