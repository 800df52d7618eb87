#include "runtime/engine/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "runtime/engine/campaign.h"
#include "runtime/engine/data.h"
#include "runtime/engine/placement.h"
#include "runtime/engine/schedule.h"
#include "runtime/machine/null_gpus.h"

namespace expc::engine {
namespace {

llvm::Error checkWorkload(const plan::Workload& workload, const WorkerDescription& worker, const std::string& path) {
  auto found = worker.workloads.find(workload.name);
  if (found != worker.workloads.end() && found->second == workload.version) return llvm::Error::success();
  std::string offered;
  for (const auto& [name, version] : worker.workloads)
    offered += fmt::format("{}{} version {}", offered.empty() ? "" : ", ", name, version);
  return llvm::createStringError(
      fmt::format("{} version {} is not in this build of {} ('{}'; it has {}): build worker and expc from one "
                  "tree, or name the right worker with --worker PATH",
                  workload.name, workload.version, std::filesystem::path(path).filename().string(), path,
                  offered.empty() ? "none" : offered));
}

/// A driver runs the CUDA of its own major version and what came before.
llvm::Error checkDriver(const machine::Machine& machine, const WorkerProgram& worker) {
  const llvm::json::Object* libraries = worker.description.libraries.getAsObject();
  const int64_t built_for = libraries ? libraries->getInteger("cuda").value_or(0) : 0;
  if (machine.cuda_driver == 0 || machine.cuda_driver / 1000 >= built_for / 1000) return llvm::Error::success();
  const auto text = [](int64_t version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); };
  return llvm::createStringError(fmt::format(
      "the NVIDIA driver {} is too old: it runs CUDA up to {}, '{}' was built for {}. Update the driver, or measure on "
      "the CPU with --devices cpu:N",
      machine.gpu_driver, text(machine.cuda_driver), worker.path, text(built_for)));
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

/// Asks for cores of another socket where there is none.
bool isTooFar(const Setup& setup, const plan::Point& point) {
  return placeOf(point.parameters) == machine::Place::Far &&
         std::any_of(setup.slots.begin(), setup.slots.end(), [&](const machine::Slot& slot) {
           return !machine::placed(setup.machine, slot, machine::Place::Far);
         });
}

/// Points that need more devices than there are cannot run here; an error if that leaves none.
llvm::Error markUnavailable(Setup& setup, std::vector<std::string>& messages) {
  unsigned too_large = 0, available = 0;
  std::string why;
  for (plan::Point& point : setup.plan.points) {
    unsigned wanted = devicesOf(point);
    if (point.unavailable.empty() && wanted > setup.slots.size()) {
      point.unavailable = fmt::format("needs {} devices, there {} {}", wanted, setup.slots.size() == 1 ? "is" : "are",
                                      setup.slots.size());
      ++too_large;
    }
    if (point.unavailable.empty() && !setup.plan.workloads[point.workload].command && isTooFar(setup, point)) {
      point.unavailable =
          "numa far needs a slot of one socket and another socket; there is one socket, or none is known";
      ++too_large;
    }
    if (point.unavailable.empty())
      ++available;
    else if (why.empty())
      why = point.unavailable;
  }
  if (too_large > 0) {
    messages.push_back(
        fmt::format("{} point{} not available on this machine: {}", too_large, too_large == 1 ? " is" : "s are", why));
  }
  if (available > 0) return llvm::Error::success();
  if (setup.plan.points.empty()) return llvm::createStringError("the plan has no points: nothing to run");
  return llvm::createStringError(fmt::format(
      "none of the {} points is available on this machine ({}; the first one: {}): use another machine or --devices",
      setup.plan.points.size(), machine::summary(setup.machine, setup.slots), why));
}

llvm::Expected<WorkerProgram> describe(const Setup& setup, const std::string& path) {
  WorkerProgram program;
  program.path = path;
  auto description = describeWorker(path, setup.environment);
  if (!description) return description.takeError();
  program.description = std::move(*description);
  const bool null_cards = setup.null_machine != nullptr;
  program.environment_class = (null_cards ? std::string(store::kNullClass) : "") +
                              machine::environmentClass(setup.machine, setup.slots, program.description.libraries);
  if (setup.slots.front().gpu) {
    if (auto error = checkDriver(setup.machine, program)) return error;
  }
  return program;
}

/// The metrics that the plan asks for and the command says how to read.
std::vector<std::string> metricsRead(const plan::Plan& plan, const plan::Workload& workload) {
  std::vector<std::string> names;
  for (const plan::CommandMetric& metric : workload.command->metrics)
    if (plan.findMetric(metric.name)) names.push_back(metric.name);
  return names;
}

/// Describes the workers that the plan needs and checks that they have its workloads.
llvm::Error findWorkers(Setup& setup, const EngineOptions& options) {
  for (const plan::Workload& workload : setup.plan.workloads) {
    std::optional<WorkerProgram>& worker = workload.command ? setup.command : setup.built_in;
    if (!worker) {
      const bool cuda = setup.slots.front().gpu && !options.cuda_worker.empty();
      std::string path = workload.command ? options.command_worker : cuda ? options.cuda_worker : options.worker;
      if (path.empty()) path = (std::filesystem::path(options.worker).parent_path() / "expc-worker-command").string();
      auto found = describe(setup, path);
      if (!found) return found.takeError();
      worker = std::move(*found);
    }
    // What a command is, is in the plan; a built-in workload must be in the worker.
    auto error = workload.command ? checkCommand(worker->path, workload, metricsRead(setup.plan, workload))
                                  : checkWorkload(workload, worker->description, worker->path);
    if (error) return error;
  }
  for (const auto* worker : {&setup.built_in, &setup.command}) {
    if (!*worker) continue;
    const char* space = setup.match.worker_build.empty() ? "" : " ";
    setup.match.worker_build += space + (*worker)->description.build;
    setup.match.environment_class += space + (*worker)->environment_class;
  }
  return llvm::Error::success();
}

/// Finds the slots, and what the workers need where these are null cards.
llvm::Error findSlots(Setup& setup, const EngineOptions& options, std::vector<std::string>& messages) {
  setup.machine = machine::probe(options.null_gpus);
  messages.insert(messages.end(), setup.machine.notes.begin(), setup.machine.notes.end());
  auto slots = machine::slots(setup.machine, options.devices);
  if (!slots) return slots.takeError();
  setup.slots = std::move(*slots);
  if (!setup.slots.front().null) return llvm::Error::success();
  auto null_machine = NullMachine::make();
  if (!null_machine) return null_machine.takeError();
  setup.null_machine = std::move(*null_machine);
  setup.environment = machine::nullEnvironment(setup.machine, setup.null_machine->file());
  messages.push_back("the GPUs are null cards, which compute nothing: no verdict comes from this run");
  return llvm::Error::success();
}

/// Everything that can refuse a run without touching the results folder.
llvm::Expected<Setup> prepare(const plan::Plan& plan, const EngineOptions& options,
                              std::vector<std::string>& messages) {
  Setup setup;
  setup.plan = plan;
  if (auto error = findSlots(setup, options, messages)) return error;
  if (auto error = markUnavailable(setup, messages)) return error;
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
  if (!setup) return setup.takeError();
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
