#include <fmt/format.h>

#include "compiler/driver/commands.h"
#include "compiler/driver/compilation.h"
#include "runtime/engine/rehearse.h"
#include "runtime/plan/json.h"
#include "runtime/report/document.h"
#include "runtime/report/sections.h"

namespace expc::driver {

namespace {

using rehearsal::Outcome;

int codeOf(const plan::Plan& plan, const engine::RehearsalOutcome& outcome) {
  if (outcome.interrupted) return kInterrupted;
  bool any = false;
  for (const plan::Point& point : plan.points) {
    const rehearsal::Point* seen = outcome.study.find(point.id);
    if (!seen || seen->outcome == Outcome::NotRehearsed) continue;
    any = true;
    if (seen->outcome == Outcome::Failed || seen->outcome == Outcome::LacksData) return kSomeFail;
    if (seen->outcome == Outcome::DoesNotFit && point.expected_infeasible.empty()) return kSomeFail;
  }
  return any ? kSuccess : kNothingRan;
}

/// Null cards as a system has GPUs, as `--null-gpus` has them. The error names the property that it does not say.
llvm::Expected<std::string> nullGpusAs(const check::System& system) {
  for (const char* property : {"gpus", "gpu.memory"}) {
    if (system[property]) continue;
    return llvm::createStringError(
        fmt::format("the system '{}' does not say {}: add it to the system, or name the cards with --null-gpus 4x94GB",
                    system.name, property));
  }
  const auto number = [&](const char* property) {
    return static_cast<uint64_t>(system[property]->asNumber()->toDouble());
  };
  return fmt::format("{}x{}B", number("gpus"), number("gpu.memory"));
}

int rehearseOne(const plan::Plan& plan, const engine::RehearsalOptions& engine, const RehearseOptions& options,
                const Console& console) {
  if (plan.points.empty() && options.where)
    return console.usage(fmt::format("study {}: no point satisfies {}", plan.study, *options.where));
  if (plan.points.empty()) {
    console.message(fmt::format("study {}: no point satisfies its rules", plan.study));
    return kNothingRan;
  }
  const std::unique_ptr<engine::ProgressListener> progress = engine::makeProgress(options.quiet);
  llvm::Expected<engine::RehearsalOutcome> outcome = engine::rehearse(plan, engine, *progress);
  if (!outcome) return console.error(outcome.takeError());
  const report::Part part =
      report::rehearsalPart(plan, outcome->study, {.logs = rehearsal::folderOf(options.results) + "/logs"});
  const bool printed =
      console.print(options.format == Format::Json ? plan::prettyJson(rehearsal::toJson(outcome->study)) + "\n"
                    : part.blocks.empty()          ? ""
                                          : report::documentText({part}, console.width(), console.colourOut()));
  if (outcome->interrupted) console.message("interrupted; what was rehearsed is kept, and the same command continues");
  return printed ? codeOf(plan, *outcome) : kError;
}

}  // namespace

int rehearse(const RehearseOptions& options, const Console& console) {
  if (!options.study.system && options.machine.null_gpus.empty())
    return console.usage(
        "a rehearsal needs to know the cards: name a machine with --system proxima, or cards with --null-gpus 4x94GB");
  Compilation compilation;
  if (!openWithoutErrors(options.study, console, compilation)) return kError;
  auto system = findSystem(*compilation.program, options.study.system.value_or("local"), options.machine);
  if (!system) return console.error(system.takeError());
  MachineOptions machine = options.machine;
  if (options.study.system) {
    auto cards = nullGpusAs(*system);
    if (!cards) return console.error(cards.takeError());
    machine.null_gpus = std::move(*cards);
  }
  engine::RehearsalOptions engine = options.engine;
  engine.results = options.results;
  if (auto error = addResources(machine, engine)) return console.error(std::move(error));
  auto plans = plansFor(*system, options.study, options.where, compilation, console);
  if (!plans) return plans.code;
  if (!canBeKept(*plans, console)) return kError;
  int code = kSuccess;
  for (ChosenPlan& one : *plans) {
    if (one.chosen)
      std::erase_if(one.plan.points, [&](const plan::Point& point) { return !one.chosen->contains(point.id); });
    code = worse(code, rehearseOne(one.plan, engine, options, console));
    if (code == kInterrupted) break;
  }
  return code;
}

}  // namespace expc::driver
