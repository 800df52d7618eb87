// `expc run` and `expc rehearse`: from options to a call of the engine, then to verdicts. `run` here, on a cluster
// (jobs.cpp) and detached are the same function at the end. Before it measures, it holds the study to its lock, if
// there is one, and finds the nodes to use. Measuring itself is runtime/engine, judging runtime/judge.

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "cli/commands.h"
#include "cli/compilation.h"
#include "cli/lock.h"
#include "cli/study_rows.h"
#include "runtime/base/failure.h"
#include "runtime/base/files/files.h"
#include "runtime/base/format.h"
#include "runtime/base/llvm.h"
#include "runtime/cluster/slurm.h"
#include "runtime/engine/engine.h"
#include "runtime/engine/rehearse.h"
#include "runtime/machine/leases.h"
#include "runtime/report/document.h"
#include "runtime/report/live_server.h"
#include "runtime/report/sections.h"

namespace expc::cli {

namespace {

/// Lines of each kind of change that a stale lock shows before a run; `expc plan --diff` shows more.
constexpr size_t kShownBeforeRun = 10;

/// Reads the lock beside the study, if there is one. The error says that it is stale, with what changed, or unreadable.
Expected<std::optional<json::Value>> openLock(const RunOptions& options, const Console& console) {
  const std::string path = lockPath(options.study.file);
  if (!files::isThere(path)) return std::nullopt;
  json::Value found = TRY(readLock(path));
  // The lock covers the whole file, so the file is compiled again without presets and -D.
  Compilation compilation;
  StudyOptions whole = options.study;
  whole.overrides.clear();
  open(whole, load::FileSystem::real(), console, compilation);
  json::Value now = TRY(makeLock(*compilation.program, false, compilation.emitter));
  std::string changes;
  for (const std::string& line : compareLocks(found, now, kShownBeforeRun, options.study.study))
    changes += "\n  " + line;
  if (changes.empty()) return found;
  return failure(
      "the study differs from its lock ({}). If you meant to change it, run `expc plan {} --lock`. Changes:{}", path,
      options.study.file, changes);
}

/// Returns the nodes that the command line or an allocation names; nothing if trials run on this machine only. In that
/// case the engine needs no agents.
Expected<std::optional<engine::nodes::NodesAsked>> nodesAsked(const RunOptions& options, const Console& console) {
  const MachineOptions& machine = options.machine;
  engine::nodes::NodesAsked asked;
  std::error_code failed;  // without /proc the engine cannot start workers either
  asked.program = std::filesystem::read_symlink("/proc/self/exe", failed).string();
  auto allocation = TRY(allocationOf(machine));
  const unsigned count = nodesOf(machine, allocation);
  // The user's own line starts agents: nodes are only numbered, and it is up to that line to reach them.
  if (!machine.agents.empty()) {
    for (unsigned number = 1; number <= count; ++number) asked.all.push_back({fmt::to_string(number), machine.agents});
    return asked;
  }
  if (!allocation) {
    if (count == 1) return std::nullopt;
    return failure("--nodes needs an allocation of Slurm (salloc, or --on slurm), or --agents-by");
  }
  const cluster::Allocation& own = *allocation;
  if (count > own.nodes.size())
    return failure("--nodes {}: allocation {} has only {}", count, own.job, own.nodes.size());
  // One node that is this one needs no agent.
  if (count == 1 && own.is_here) return std::nullopt;
  if (!own.is_here)
    console.message("this machine is not part of allocation {}: trials run on its nodes ({})", own.job,
                    fmt::join(own.nodes, ", "));
  for (unsigned i = 0; i < count; ++i) asked.all.push_back({own.nodes[i], cluster::agentLine(own.nodes[i])});
  return asked;
}

/// Measures one study, judges and reports it. Returns the exit code of its verdicts.
Exit runOne(const ChosenPlan& chosen, const RunOptions& options, const std::optional<json::Value>& lock,
            const Console& console) {
  const Plan& plan = chosen.plan;
  if (chosen.chosen && chosen.chosen->empty())
    return usage("study {}: no point satisfies {}", plan.study, options.where.value_or(""));
  engine::EngineOptions engine_options = options.engine;
  TRY(addResources(options.machine, engine_options));
  // Leases keep other runs on this machine away from the same devices.
  engine_options.device_locks = machine::leaseFolder();
  if (lock) engine_options.locked_data = lockedData(*lock, plan.study);
  engine_options.results = options.results;
  engine_options.nodes = TRY(nodesAsked(options, console));
  // The plan keeps points that --where leaves out: they may be stored, and verdicts need every cell.
  engine_options.only = chosen.chosen;
  auto system = TRY(localSystem(options.machine));
  engine_options.system = check::toJson(system);
  // Inside an allocation the engine stops starting trials that would not end before it does.
  auto left = cluster::secondsLeft();
  if (!left)
    console.message("the end of this allocation is unknown, so the run may be cut off there: {}",
                    toString(left.takeError()));
  else if (*left)
    engine_options.ends_at = engine_options.clock->boot() + **left;

  TRY(checkRows(plan, chosen.chosen));
  const std::unique_ptr<engine::ProgressListener> progress = engine::makeProgress(options.quiet);
  auto outcome = TRY(engine::run(options.pilot ? simulate::pilotOf(plan) : plan, engine_options, *progress));
  if (outcome.ending == engine::Ending::Interrupted) return kInterrupted;
  // A pilot measures noise, so it ends with what the design can find, and not with verdicts.
  if (options.pilot) return showDiagnosis(plan, options.results, outcome.null_cards, options.format, {}, {}, console);
  // The store is opened anew, since the engine has written to it. Null cards have results of their own.
  auto store = TRY(openStore(options.results, &console));
  const Results results = store.loadLatest(plan, outcome.null_cards);
  // A bench names no results, so its user may not expect runs of an earlier one to count.
  size_t earlier = 0;
  if (options.brief && outcome.ending != engine::Ending::NothingToDo) {
    int64_t newest = 0;
    for (const Trial& trial : results.trials) newest = std::max(newest, trial.run);
    earlier = size_t(std::ranges::count_if(results.trials, [&](const Trial& trial) { return trial.run < newest; }));
  }
  const int code = console.codeOf(showVerdicts(plan, results, options, console));
  if (earlier > 0)
    console.message("{} that {} already stored {} too; --results DIR keeps runs apart", base::counted(earlier, "run"),
                    earlier == 1 ? "was" : "were", earlier == 1 ? "counts" : "count");
  const bool has_verdicts = code == kSomeFail || code == kSomeUndecided;
  return options.verdicts_ok && has_verdicts ? kSuccess : code;
}

/// Starts the server that shows the run to a browser, if the options ask for one.
Expected<std::optional<report::LiveServer>> serve(const ChosenPlans& chosen, const RunOptions& options,
                                                  const Console& console) {
  if (options.serve.empty()) return std::nullopt;
  // The server is another process, so it gets copies of the plans.
  std::vector<Plan> plans;
  for (const ChosenPlan& one : chosen) plans.push_back(one.plan);
  const auto port = options.serve == "free" ? 0u : unsigned(std::stoul(options.serve));
  auto server = TRY(report::LiveServer::start(port, std::move(plans), options.results));
  console.message("watch the run at {}", server.url());
  return std::optional<report::LiveServer>(std::move(server));
}

/// Runs all selected studies in this process. Everything that can fail early does so before the first trial starts.
Exit runHere(const RunOptions& options, const Console& console) {
  const auto plans = TRY(loadPlans(options.study, options.machine, options.where, console));
  TRY(canShow(options, plans.size()));
  TRY(canBeKept(plans));
  auto lock = TRY(openLock(options, console));
  auto server = TRY(serve(plans, options, console));
  int code = kSuccess;
  for (const ChosenPlan& plan : plans) {
    code = worse(code, console.codeOf(runOne(plan, options, lock, console)));
    if (code == kInterrupted) break;
  }
  if (server) server->end(code);
  return code;
}

}  // namespace

Exit run(const RunOptions& options, const Console& console) {
  if (!options.on.empty()) return submitRun(options, console);
  if (options.detach) return detachRun(options, console, runHere);
  return runHere(options, console);
}

// ---- expc rehearse

namespace {

using rehearsal::Outcome;

/// Returns the exit code of a rehearsal: kSomeFail if a point failed or unexpectedly does not fit, kNothingRan if no
/// point was tried.
int codeOf(const Plan& plan, const engine::RehearsalOutcome& outcome) {
  if (outcome.interrupted) return kInterrupted;
  bool any = false;
  for (const Point& point : plan.points) {
    // Points that were not tried decide nothing.
    const rehearsal::Point* seen = outcome.study.find(point.id);
    if (!seen || seen->outcome == Outcome::NotRehearsed) continue;
    any = true;
    if (seen->outcome == Outcome::Failed || seen->outcome == Outcome::LacksData) return kSomeFail;
    if (seen->outcome == Outcome::DoesNotFit && point.expected_infeasible.empty()) return kSomeFail;
  }
  return any ? kSuccess : kNothingRan;
}

/// Returns the text for `--null-gpus` that stands for the GPUs of a system. The error names the property that the
/// system does not state.
Expected<std::string> nullGpusAs(const check::System& system) {
  for (const char* property : {"gpus", "gpu.memory"}) {
    if (system[property]) continue;
    return failure("system '{}' declares no {}: add it, or use --null-gpus 4x94GB", system.name, property);
  }
  const auto number = [&](const char* property) { return uint64_t(system[property]->asNumber()->toDouble()); };
  return fmt::format("{}x{}B", number("gpus"), number("gpu.memory"));
}

/// Rehearses the points of one plan and prints the outcome.
Exit rehearseOne(const Plan& plan, const engine::RehearsalOptions& engine, const RehearseOptions& options,
                 const Console& console) {
  if (plan.points.empty() && options.where) return usage("study {}: no point satisfies {}", plan.study, *options.where);
  if (plan.points.empty()) {
    console.message("study {}: no point satisfies its rules", plan.study);
    return kNothingRan;
  }
  const std::unique_ptr<engine::ProgressListener> progress = engine::makeProgress(options.quiet);
  auto outcome = TRY(engine::rehearse(plan, engine, *progress));
  const report::Part part =
      report::rehearsalPart(plan, outcome.study, {.logs = rehearsal::folderOf(options.results) + "/logs"});
  const bool printed =
      console.print(options.format == Format::Json ? base::prettyJson(rehearsal::toJson(outcome.study)) + "\n"
                    : part.blocks.empty()          ? ""
                                          : report::documentText({part}, console.width(), console.colourOut()));
  if (outcome.interrupted) console.message("interrupted; rehearsals so far are kept, and the same command continues");
  return printed ? codeOf(plan, outcome) : kError;
}

}  // namespace

Exit rehearse(const RehearseOptions& options, const Console& console) {
  if (!options.study.system && options.machine.null_gpus.empty())
    return usage("which GPUs? Name a machine (--system proxima) or simulated GPUs (--null-gpus 4x94GB)");
  Compilation compilation;
  TRY(openWithoutErrors(options.study, console, compilation));
  auto system = TRY(findSystem(*compilation.program, options.study.system.value_or("local"), options.machine));
  // A named system is rehearsed on as many null cards as it has GPUs.
  MachineOptions machine = options.machine;
  if (options.study.system) machine.null_gpus = TRY(nullGpusAs(system));
  engine::RehearsalOptions engine = options.engine;
  engine.results = options.results;
  TRY(addResources(machine, engine));
  auto plans = TRY(plansFor(system, options.study, options.where, compilation, console));
  TRY(canBeKept(plans));
  int code = kSuccess;
  for (ChosenPlan& one : plans) {
    if (one.chosen)
      // A rehearsal tries only chosen points; a run keeps all of them in the plan and starts some, since judging needs
      // the whole.
      std::erase_if(one.plan.points, [&](const Point& point) { return !one.chosen->contains(point.id); });
    code = worse(code, console.codeOf(rehearseOne(one.plan, engine, options, console)));
    if (code == kInterrupted) break;
  }
  return code;
}

}  // namespace expc::cli
