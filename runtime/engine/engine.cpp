#include "runtime/engine/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "runtime/engine/campaign.h"
#include "runtime/engine/data.h"
#include "runtime/engine/setup.h"

namespace expc::engine {
namespace {

/// Points that cannot run here are left out, and it is said; an error if that leaves none.
llvm::Error settleUnavailable(Setup& setup, std::vector<std::string>& messages) {
  const auto count = [&] {
    return std::count_if(setup.plan.points.begin(), setup.plan.points.end(),
                         [](const plan::Point& point) { return !point.unavailable.empty(); });
  };
  const auto by_rules = count();
  markUnavailable(setup, /*places=*/true);
  const auto all = count(), here = all - by_rules;
  std::string why;
  for (const plan::Point& point : setup.plan.points)
    if (why.empty()) why = point.unavailable;
  if (here > 0) {
    messages.push_back(
        fmt::format("{} point{} not available on this machine: {}", here, here == 1 ? " is" : "s are", why));
  }
  if (setup.plan.points.empty()) return llvm::createStringError("the plan has no points: nothing to run");
  if (static_cast<size_t>(all) < setup.plan.points.size()) return llvm::Error::success();
  return llvm::createStringError(fmt::format(
      "none of the {} points is available on this machine ({}; the first one: {}): use another machine or --devices",
      setup.plan.points.size(), machine::summary(setup.machine, setup.slots), why));
}

llvm::Error findWorkers(Setup& setup, const Resources& resources) {
  for (const plan::Workload& workload : setup.plan.workloads)
    if (auto error = findWorker(setup, resources, workload)) return error;
  for (const auto* worker : {&setup.built_in, &setup.command}) {
    if (!*worker) continue;
    const char* space = setup.match.worker_build.empty() ? "" : " ";
    setup.match.worker_build += space + (*worker)->description.build;
    setup.match.environment_class += space + (*worker)->environment_class;
  }
  return llvm::Error::success();
}

/// Says which points will not be started because their estimated memory does not fit, or lets them be tried.
llvm::Error settleInfeasible(Setup& setup, bool try_them, std::vector<std::string>& messages) {
  size_t expected = 0, startable = 0;
  std::string why;
  for (plan::Point& point : setup.plan.points) {
    if (point.unavailable.empty() && !point.expected_infeasible.empty()) {
      if (expected++ == 0) why = point.expected_infeasible;
      if (try_them) point.expected_infeasible.clear();
    }
    startable += point.startable();
  }
  if (expected == 0) return llvm::Error::success();
  const std::string points = fmt::format("{} point{} expected infeasible", expected, expected == 1 ? " is" : "s are");
  if (startable == 0) {
    return llvm::createStringError(
        fmt::format("nothing to start: {} ({}); --try-infeasible starts them all the same", points, why));
  }
  messages.push_back(try_them ? fmt::format("{} ({}) and tried all the same", points, why)
                              : fmt::format("{} and not started ({}); --try-infeasible starts them", points, why));
  return llvm::Error::success();
}

/// Everything that can refuse a run without touching the results folder.
llvm::Expected<Setup> prepare(const plan::Plan& plan, const EngineOptions& options,
                              std::vector<std::string>& messages) {
  Setup setup;
  setup.plan = plan;
  if (auto error = findSlots(setup, options, messages)) return error;
  if (setup.null_machine)
    messages.push_back("the GPUs are null cards, which compute nothing: no verdict comes from this run");
  if (auto error = settleUnavailable(setup, messages)) return error;
  if (auto error = settleInfeasible(setup, options.try_infeasible, messages)) return error;
  if (auto error = findWorkers(setup, options)) return error;
  if (auto error = checkDataExists(plan)) return error;
  auto files = findCommandFiles(setup.plan, options.results);
  if (!files) return files.takeError();
  setup.command_files = std::move(*files);
  return setup;
}

llvm::Error digestAll(Setup& setup, const EngineOptions& options, const std::function<llvm::Error()>& tick) {
  auto digests = digestData(setup.plan, tick);
  if (!digests) return digests.takeError();
  for (const auto& [path, digest] : *digests)
    if (auto locked = options.locked_data.find(path); locked != options.locked_data.end() && locked->second != digest)
      return llvm::createStringError(
          fmt::format("{} is not the data that the lock holds ({}, not {}): restore it, or write the lock anew with "
                      "`expc plan --lock`",
                      path, digest, locked->second));
  setup.match.data_digests = std::move(*digests);
  return digestCommands(setup.plan, setup.command_files, setup.match.data_digests, tick);
}

llvm::Error recordRun(const Setup& setup, store::Store& store, int64_t session, std::string_view outcome) {
  store::Run run;
  run.study = setup.plan.study;
  run.plan_digest = setup.plan.digest;
  run.plan_json = plan::canonicalJson(plan::toJson(setup.plan));
  run.session = session;
  run.match = setup.match;
  run.started = now();
  auto id = store.addRun(run);
  if (!id) return id.takeError();
  return store.endRun(*id, now(), outcome);
}

}  // namespace

double now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

llvm::Expected<RunOutcome> run(const plan::Plan& plan, const EngineOptions& options, ProgressListener& listener) {
  Interrupts interrupts;
  RunOutcome outcome;
  auto tell = [&, told = size_t(0)]() mutable {
    for (; told < outcome.messages.size(); ++told) listener.message(outcome.messages[told]);
  };
  // Trials run in other folders: everything below uses the absolute name.
  EngineOptions absolute = options;
  absolute.results = std::filesystem::absolute(options.results).lexically_normal().string();
  if (!options.traces.empty()) absolute.traces = std::filesystem::absolute(options.traces).lexically_normal().string();
  Traces traces(absolute.traces);
  if (auto error = traces.prepare()) return error;
  auto setup = prepare(plan, absolute, outcome.messages);
  tell();
  if (!setup) {
    if (!interrupts.requested()) return setup.takeError();
    llvm::consumeError(setup.takeError());
    outcome.ending = Ending::Interrupted;
    return outcome;
  }
  auto store = store::Store::openForWriting(absolute.results, outcome.messages);
  tell();
  if (!store) return store.takeError();
  auto error = digestAll(*setup, options, [&]() -> llvm::Error {
    return interrupts.requested() ? llvm::createStringError("interrupted while the data was read") : store->heartbeat();
  });
  if (error) {
    if (!interrupts.requested()) return error;
    llvm::consumeError(std::move(error));
    outcome.ending = Ending::Interrupted;
    return outcome;
  }
  auto results = store->load(setup->plan, setup->match);
  if (!results) return results.takeError();
  outcome.null_cards = setup->null_machine != nullptr;
  outcome.reused = std::count_if(results->trials.begin(), results->trials.end(),
                                 [](const store::Trial& trial) { return trial.status == store::TrialStatus::Valid; });
  for (const std::string& why : results->not_counted_reasons) outcome.messages.push_back("kept, not counted: " + why);
  tell();

  if (!needsTrials(setup->plan, *results)) {
    outcome.ending = Ending::NothingToDo;
    outcome.messages.push_back(fmt::format("nothing to run: all {} trials are there", outcome.reused));
    tell();
    auto session = store->latestSession();
    if (!session)
      error = session.takeError();
    else if (*session)
      error = recordRun(*setup, *store, (*session)->id, "nothing to do");
  } else if (budgetSpent(setup->plan, *results)) {
    outcome.ending = Ending::BudgetSpent;
    outcome.messages.push_back(budgetText(setup->plan, *results));
    tell();
    auto session = store->latestSession();
    if (!session)
      error = session.takeError();
    else if (*session)
      error = recordRun(*setup, *store, (*session)->id, "budget spent");
  } else {
    error = Campaign(*setup, absolute, *store, interrupts, listener, traces, outcome).run(std::move(*results));
  }
  listener.finished();
  if (const std::string text = traces.summary(setup->plan); !text.empty() && !error) {
    listener.message(text);
    outcome.messages.push_back(text);
  }
  // What was measured is safe whether or not the snapshot can be written; but a reader would miss it, so say so.
  llvm::Error closing = store->close();
  if (error) {
    llvm::consumeError(std::move(closing));
    return error;
  }
  if (closing) return closing;
  return outcome;
}

}  // namespace expc::engine
