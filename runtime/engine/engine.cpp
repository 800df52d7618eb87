// Everything around the trials of a run: checks what can refuse it, opens the store, digests inputs, loads what counts,
// chooses the launcher, and hands over to Campaign.
//
// The order matters. First come checks that touch nothing (prepare), then the store with its lease, then digests, which
// can take minutes and keep the lease alive meanwhile, and only then anything that starts processes for trials.

#include "runtime/engine/engine.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "runtime/base/entry.h"
#include "runtime/base/failure.h"
#include "runtime/base/format.h"
#include "runtime/base/llvm.h"
#include "runtime/base/text.h"
#include "runtime/engine/campaign.h"
#include "runtime/engine/inputs/data.h"
#include "runtime/engine/launch/interrupts.h"
#include "runtime/engine/launch/local_launcher.h"
#include "runtime/engine/nodes/agent.h"
#include "runtime/engine/not_given.h"
#include "runtime/engine/setup.h"
#include "runtime/judge/criteria.h"
#include "runtime/judge/needs.h"
#include "runtime/machine/leases.h"
#include "runtime/machine/slots.h"

namespace expc::engine {
namespace {

/// Tells the user which devices trials of each size get, if sets of that size differ (links, sockets).
void sayChoices(const Setup& setup, ProgressListener& listener) {
  std::set<unsigned> wanted;
  for (const Point& point : setup.plan.points)
    if (point.startable() && setup.lane(0).nodesFor(point) == 1) wanted.insert(plan::devicesOf(point));
  // Only sizes that some point has, and each once.
  for (const unsigned count : wanted)
    if (const std::string text = setup.lane(0).sets.choiceText(count); !text.empty()) listener.message(text);
}

/// Marks the points that cannot run on this machine and tells the user. Error: no point is left.
Error markUnavailable(Setup& setup, ProgressListener& listener) {
  const auto count = [&] {
    return std::ranges::count_if(setup.plan.points, [](const Point& point) { return !point.unavailable.empty(); });
  };
  // Points that rules of the study exclude are marked already; the message counts only those that the machine lacks.
  const auto by_rules = count();
  markUnavailable(setup, /*places=*/true);
  const auto all = count(), here = all - by_rules;
  std::string why;
  for (const Point& point : setup.plan.points)
    if (why.empty()) why = point.unavailable;
  if (here > 0) listener.say("{} cannot run on this machine: {}", base::counted(here, "point"), why);
  if (setup.plan.points.empty()) return failure("the plan has no points: nothing to run");
  if (size_t(all) < setup.plan.points.size()) return Error::success();
  return failure(
      "none of the {} points can run on this machine ({}; the first one: {}). Use another machine, or --devices",
      setup.plan.points.size(), machine::summary(setup.machine, setup.slots), why);
}

/// Finds a worker that can heat the GPUs of a plan of commands alone, since a user's program heats nothing before it is
/// measured. Without one the GPUs start cold, and a message says so.
void findHeater(Setup& setup, const EngineOptions& options, ProgressListener& listener) {
  if (setup.built_in || !setup.slots.front().gpu || options.heat_up_seconds <= 0) return;
  const std::string& path = options.cuda_worker.empty() ? options.worker : options.cuda_worker;
  auto description = launch::describeWorker(path, setup.environment);
  if (description)
    setup.heater = path;
  else
    listener.say("GPU warm-up skipped: {}", toString(description.takeError()));
}

/// Describes the workers that the plan's workloads need and takes their builds into `setup.match`.
Error findWorkers(Setup& setup, const Resources& resources) {
  for (const plan::Workload& workload : setup.plan.workloads) TRY(findWorker(setup, resources, workload));
  const auto identity = [](const std::optional<WorkerProgram>& worker) {
    return worker ? std::optional(store::Worker{worker->description.build, worker->environment_class}) : std::nullopt;
  };
  setup.match.built_in = identity(setup.built_in);
  setup.match.command = identity(setup.command);
  return Error::success();
}

/// Leaves out points whose estimated memory does not fit, or lets them be tried (`try_them`), and says which. A point
/// of which a criterion claims that it is infeasible is always started, because an estimate cannot decide that. Error:
/// nothing is left to start.
Error markInfeasible(Setup& setup, bool try_them, ProgressListener& listener) {
  size_t expected = 0, startable = 0;
  std::string why;
  const std::set<std::string> claimed = judge::claimedInfeasible(setup.plan);
  for (Point& point : setup.plan.points) {
    if (claimed.contains(point.id)) point.expected_infeasible.clear();
    if (point.unavailable.empty() && !point.expected_infeasible.empty()) {
      if (expected++ == 0) why = point.expected_infeasible;
      if (try_them) point.expected_infeasible.clear();
    }
    startable += point.startable();
  }
  if (expected == 0) return Error::success();
  const std::string points =
      fmt::format("{} {} estimated not to fit in memory", base::counted(expected, "point"), base::are(expected));
  if (startable == 0) {
    return failure("nothing to run: {} ({}); --try-infeasible runs them anyway", points, why);
  }
  listener.message(try_them ? fmt::format("{} ({}), run anyway", points, why)
                            : fmt::format("{} and skipped ({}); --try-infeasible runs them", points, why));
  return Error::success();
}

/// Does everything that can refuse a run without touching the store; only agents of other nodes write logs to the
/// results folder. Each step needs those before it: slots need the nodes, workers need slots and environment, and the
/// lanes on nodes need the workers.
Expected<Setup> prepare(const Plan& plan, const EngineOptions& options, ProgressListener& listener) {
  Setup setup;
  setup.plan = plan;
  TRY(findNodes(setup, options, options.results));
  TRY(findSlots(setup, options, listener));
  if (setup.null_machine) listener.message("the GPUs are simulated and compute nothing: this run gives no verdict");
  TRY(markUnavailable(setup, listener));
  TRY(markInfeasible(setup, options.try_infeasible, listener));
  shareDevices(setup, listener);
  sayChoices(setup, listener);
  setup.command_environment = TRY(commandEnvironment(ownVariables(), options.pass_env));
  TRY(findWorkers(setup, options));
  findHeater(setup, options, listener);
  TRY(spreadOverNodes(setup, options, listener));
  // Processes are asked for the points that are left.
  if (!setup.plan.processes().empty()) setup.plan.indexPoints();
  TRY(inputs::checkDataExists(plan));
  setup.command_files = TRY(inputs::findCommandFiles(setup.plan, options.results));
  if (setup.command)
    for (const std::string& line : notGivenLines(setup.command_environment, setup.command_files))
      listener.message(line);
  return setup;
}

/// Digests data, commands and their inputs into `setup.match`, compares data with the lock, and plans the copies on
/// scratch disks. Reading the data also warms the page cache.
Error digestAll(Setup& setup, const EngineOptions& options, const inputs::Tick& tick) {
  // The watch notes the files before they are read, so that a change in between is seen.
  setup.files = inputs::FileWatch(setup.plan, setup.command_files);
  auto digests = TRY(inputs::digestData(setup.plan, tick));
  // Data that the lock does not name is not held to anything.
  for (const auto& [path, digest] : digests)
    if (const auto* locked = entryOf(options.locked_data, path); locked && *locked != digest)
      return failure(
          "{} has changed since the lock was written ({} instead of {}): restore it, or renew the lock with `expc plan "
          "--lock`",
          path, digest, *locked);
  if (!options.scratch.empty()) setup.copies = inputs::scratchCopies(setup.plan, digests, options.scratch);
  setup.match.data_digests = std::move(digests);
  // Variables that commands get count like data: trials with other values of them are others.
  if (setup.match.command)
    for (const auto& [name, value] : setup.command_environment.recorded)
      setup.match.data_digests[store::partKey(store::kVariable, name.str())] = value.getAsString().value_or("").str();
  return inputs::digestCommands(setup.plan, setup.command_files, setup.match.data_digests, tick);
}

/// Records a run that starts no trial. It has no session of its own, so the newest session on its nodes stands in;
/// without one nothing is recorded.
Error recordRun(const Env& env, store::Outcome outcome) {
  std::set<std::vector<std::string>> own;
  for (unsigned lane = 0; lane < env.setup.lanes.size(); ++lane)
    own.insert(sessionPlace(env.setup, lane, {"", 1}).nodes);
  const auto& sessions = env.store.contents().sessions;
  const auto newest = std::find_if(sessions.rbegin(), sessions.rend(),
                                   [&](const auto& session) { return own.count(session.second.where.nodes) != 0; });
  if (newest == sessions.rend()) return Error::success();
  auto id = TRY(env.store.addRun(env.record(newest->first)));
  return env.store.endRun(id, env.now(), outcome, store::claimsOf(env.setup.plan));
}

/// The tick of long work before the first trial: keeps the lease alive, and ends the work on an interrupt.
inputs::Tick tickOf(store::Store& store) {
  return [&store]() -> Error {
    return Interrupts::requested() ? failure("interrupted before the first trial") : store.heartbeat();
  };
}

/// Whether the error is only the consequence of an interrupt. Consumes the error in that case.
bool isStop(Error& error) {
  if (!Interrupts::requested()) return false;
  consumeError(std::move(error));
  return true;
}

/// Ends a run before its first trial: returns the error, or records an interrupted run if the user ended it.
Error stopped(const Env& env, Error error) {
  if (!isStop(error)) return error;
  env.outcome.ending = Ending::Interrupted;
  return recordRun(env, {store::Outcome::Interrupted});
}

/// Fills `index` with the stored trials that match the setup, and says which are not counted and why.
void load(const Env& env, judge::Index& index) {
  Results results = env.store.load(env.setup.plan, env.setup.match);
  for (const store::Session& session : results.sessions) index.add(session);
  for (const Trial& trial : results.trials) index.add(trial);
  for (store::PastLook& look : results.looks) index.add(std::move(look));
  env.outcome.null_cards = env.setup.null_machine != nullptr;
  for (const std::string& why : results.not_counted_reasons) env.listener.say("stored but ignored: {}", why);
  index.startRun(env.options);
  env.outcome.reused = env.options.fresh ? 0 : index.tally().valid;
}

/// Makes the copies of data on the scratch disk of each machine, before any session, so that no trial pays for them.
Error copyData(const Env& env) {
  if (env.setup.copies.empty()) return Error::success();
  TRY(makeCopies(env.setup, tickOf(env.store), env.tell()));
  const size_t nodes = env.setup.nodes ? env.setup.nodes->all().size() : 1;
  env.listener.say("trials read their data from {}{}", env.options.scratch,
                   nodes == 1 ? std::string() : fmt::format(" on each of {} nodes", nodes));
  return Error::success();
}

/// Runs preparations, then the campaign. If a preparation produced other files than assumed, what counted before may be
/// of another program, so the index is loaded anew.
Error measure(const Env& env, Launcher& launcher, const machine::DeviceLeases& leases, judge::Index& index) {
  auto changed = prepareCommands(env, launcher);
  if (!changed) return stopped(env, changed.takeError());
  // The index that was loaded before the preparations still holds.
  if (!*changed) return Campaign(env, launcher, leases, index).run();
  judge::Index anew(env.setup.plan, judge::Index::Keep::ForRun);
  load(env, anew);
  return Campaign(env, launcher, leases, anew).run();
}

/// Runs the campaign on the launcher that the options give, else on nodes, else on this machine with its devices
/// leased.
Error campaign(const Env& env, judge::Index& index) {
  const Setup& setup = env.setup;
  const EngineOptions& options = env.options;
  // Another run that wants the same devices shows this text to its user.
  const std::string owner = fmt::format("process {}, a run of {} by user {} with results in {}", getpid(),
                                        setup.plan.study, getuid(), options.results);
  const auto workers = [&](const std::string& log) {
    return launch::LocalWorkers{setup.builtInPath(), setup.command ? setup.command->path : "", setup.environment,
                                fmt::format("{}/{}.log", options.results, log),
                                setup.slots.front().gpu ? setup.machine.nvml_library : ""};
  };
  machine::DeviceLeases leases;
  const auto on = [&](Launcher& launcher) { return measure(env, launcher, leases, index); };
  if (options.launcher) return on(*options.launcher);
  if (setup.nodes) {
    const auto begin = [&](const nodes::Node& node) {
      const nodes::AgentTask task{workers("worker-server." + node.name), setup.lanes_per_node, options.devices,
                                  options.device_locks, owner};
      return json::Object{{"begin", base::written(task)}};
    };
    auto begun = setup.nodes->ask("begun", begin, env.tell());
    return begun ? on(*nodes::launcherOn(*setup.nodes, setup.lanes.size(), env.tell(), env.clock))
                 : stopped(env, begun.takeError());
  }
  if (!setup.null_machine) {  // null cards measure nothing that others could disturb, so no lease
    std::vector<std::string> notes;
    auto taken = machine::DeviceLeases::take(setup.slots, options.device_locks, owner, notes);
    for (const std::string& note : notes) env.listener.message(note);
    if (!taken) return taken.takeError();
    leases = std::move(*taken);
  }
  auto launcher = launch::launcherHere(workers("worker-server"), env.tell(), env.clock, setup.lanes.size());
  return launcher ? on(**launcher) : stopped(env, launcher.takeError());
}

/// The body of run(), once the results folder is leased.
Error execute(const Env& env) {
  judge::Index index(env.setup.plan, judge::Index::Keep::ForRun);
  load(env, index);
  // Incomplete differs from NothingToDo: trials are missing, but they failed for good and are not tried again.
  if (!needsTrials(index)) {
    const std::string lacking = shortfallText(index), early = endedAtLookText(index);
    env.outcome.ending = lacking.empty() ? Ending::NothingToDo : Ending::Incomplete;
    env.listener.say("nothing to run: {}", !early.empty()    ? early
                                           : lacking.empty() ? storedText(index)
                                                             : fmt::format("{}; --retry-failed tries again", lacking));
    return recordRun(env, {store::Outcome::NothingToDo});
  }
  if (budgetSpent(index)) {
    env.outcome.ending = Ending::BudgetSpent;
    env.listener.message(budgetText(index, env.options));
    return recordRun(env, {store::Outcome::BudgetSpent});
  }
  if (auto error = copyData(env)) return stopped(env, std::move(error));
  return campaign(env, index);
}

}  // namespace

Expected<RunOutcome> run(const Plan& plan, const EngineOptions& options, ProgressListener& listener) {
  const Interrupts interrupts;
  RunOutcome outcome;
  // Trials run in other folders, so everything below uses absolute names.
  EngineOptions absolute = options;
  absolute.results = std::filesystem::absolute(options.results).lexically_normal().string();
  for (std::string* folder : {&absolute.traces, &absolute.scratch})
    if (!folder->empty()) *folder = std::filesystem::absolute(*folder).lexically_normal().string();
  TRY(checkHost({plan.root, absolute.results, absolute.traces, absolute.scratch}));
  Traces traces(absolute.traces);
  TRY(traces.prepare());
  const auto stopped = [&](Error error) -> Expected<RunOutcome> {
    if (!isStop(error)) return error;
    outcome.ending = Ending::Interrupted;
    return outcome;
  };
  // Before the store: a run that is refused leaves no journal.
  auto setup = prepare(plan, absolute, listener);
  if (!setup) return stopped(setup.takeError());
  std::vector<std::string> messages;
  auto store = store::Store::openForWriting(absolute.results, messages);
  for (const std::string& message : messages) listener.message(message);
  if (!store) return store.takeError();
  // News are messages of the store during the run, such as a journal that was removed.
  store->onNews([&listener](const std::string& news) { listener.message(news); });
  auto error = digestAll(*setup, options, tickOf(*store));
  if (!error) error = digestPrepared(*setup, absolute.results, store->contents(), tickOf(*store));
  if (error) return stopped(std::move(error));
  error = execute({*setup, absolute, *store, listener, traces, outcome});
  listener.finished();
  if (const std::string text = traces.summary(setup->plan); !text.empty() && !error) listener.message(text);
  // The first error is the one to report; a failure to close usually follows from it.
  Error closing = store->close();
  if (error) {
    consumeError(std::move(closing));
    return error;
  }
  if (closing) return closing;
  return outcome;
}

std::vector<std::string> notGiven(const Plan& plan, const EngineOptions& options) {
  if (!plan.hasCommands()) return {};
  auto environment = commandEnvironment(ownVariables(), options.pass_env);
  auto files = inputs::findCommandFiles(plan, options.results);
  if (environment && files) return notGivenLines(*environment, *files);
  consumeError(environment.takeError());  // a run says what is wrong
  consumeError(files.takeError());
  return {};
}

Expected<std::optional<Results>> countedNow(const Plan& plan, const EngineOptions& options, double seconds) {
  TRY(inputs::checkDataExists(plan));
  auto files = TRY(inputs::findCommandFiles(plan, options.results));
  if (!store::isStore(options.results)) return Results{};
  const Interrupts interrupts;
  ProgressListener nobody;
  auto setup = TRY(prepare(plan, options, nobody));
  std::vector<std::string> untold;
  auto store = TRY(store::Store::openForReading(options.results, untold));
  // The tick ends the reading after `seconds`. `over` tells that apart from a real error.
  bool over = false;
  const inputs::Tick tick = [&, end = options.clock->boot() + seconds]() -> Error {
    over = Interrupts::requested() || options.clock->boot() > end;
    return over ? failure("not read to its end") : Error::success();
  };
  auto error = digestAll(setup, options, tick);
  if (!error) error = digestPrepared(setup, options.results, store.contents(), tick);
  if (error && !over) return error;
  if (over) return consumeError(std::move(error)), std::nullopt;
  return store.load(plan, setup.match);
}

}  // namespace expc::engine
