// Rehearsals. They share slots, ranks, launch server and trial ends with a run, but there is no session, block,
// heat-up, retry or store. The folder of rehearsals has a lease of its own, so that a run beside it is not disturbed.

#include "runtime/engine/rehearse.h"

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <set>

#include "runtime/base/files/results_folder.h"
#include "runtime/base/format.h"
#include "runtime/base/llvm.h"
#include "runtime/base/text.h"
#include "runtime/engine/campaign.h"
#include "runtime/engine/inputs/data.h"
#include "runtime/engine/inputs/trial_folders.h"
#include "runtime/engine/launch/interrupts.h"
#include "runtime/engine/launch/local_launcher.h"
#include "runtime/engine/launch/trial_runner.h"
#include "runtime/engine/rehearse_command.h"
#include "runtime/engine/scheduler.h"
#include "runtime/engine/setup.h"
#include "runtime/engine/trial_request.h"
#include "runtime/store/lease.h"

namespace expc::engine {
namespace {

using rehearsal::Outcome;

/// Steps of a rehearsal. Three steps of warm-up hide what is done once: torch's c10d rebuilds its buckets after the
/// first step and frees the old ones a step or two later. The second counted step shows what repeats.
constexpr int kSteps = 2, kWarmup = 3;
/// Variable that makes null cards drop the contents of allocations above this size. No value matters in a rehearsal,
/// and a model of 8 billion parameters then takes no memory of the host.
constexpr const char* kDrop = "NULLGPU_DROP";
constexpr const char* kDropped = "64KiB";

/// Rehearses the points of one plan. Lives for one call of rehearse().
class Rehearser {
 public:
  Rehearser(Setup& setup, const RehearsalOptions& options, store::Lease& lease, ProgressListener& listener)
      : setup_(setup),
        options_(options),
        folder_(rehearsal::folderOf(options.results)),
        listener_(listener),
        launcher_(cantFail(launch::launcherHere(
            {setup.built_in ? setup.built_in->path : "", setup.command ? setup.command->path : "", setup.environment,
             folder_ + "/logs/worker-server.log"},
            [&listener](const std::string& text) { listener.message(text); }, launch::Clock::real(), 1,
            /*ready=*/false))),
        runner_(*launcher_, launch::Clock::real(), [&lease] { return lease.heartbeat(); }),
        commands_(setup, folder_, options.timeout_seconds, runner_, listener) {
    // The smallest memory among the cards counts: a point fits if it fits on every card.
    cards_.count = setup.slots.size();
    for (const machine::Gpu& gpu : setup.machine.gpus)
      cards_.memory = cards_.memory == 0 ? gpu.memory_bytes : std::min(cards_.memory, gpu.memory_bytes);
  }

  Expected<RehearsalOutcome> run() {
    known_ = TRY(rehearsal::read(options_.results, setup_.plan.study));
    outcome_.study.study = setup_.plan.study;
    std::set<std::string> started;  // a process that goes through levels by itself is launched once
    for (const Point& point : setup_.plan.points) {
      if (!whyNot(point).empty() || !started.insert(setup_.plan.startedFor(point).id).second) continue;
      ++(isKept(point) ? outcome_.kept : expected_);
    }
    if (outcome_.kept > 0) {
      listener_.say("{} {} kept: this worker has rehearsed {} on such GPUs before (--again repeats them)",
                    base::counted(outcome_.kept, "point"), base::are(outcome_.kept),
                    outcome_.kept == 1 ? "it" : "them");
    }
    for (const Point& point : setup_.plan.points) {
      if (const std::string why = whyNot(point); !why.empty()) {
        TRY(leaveOut(point, why));
      } else if (isKept(point)) {
        outcome_.study.put(*known_.find(point.id));
      } else if (!Interrupts::requested()) {
        TRY(rehearse(point));
      }
    }
    TRY(commands_.end());
    // Ends the workers before the last message, so that nothing of theirs is printed behind it.
    launcher_.reset();
    listener_.finished();
    outcome_.interrupted = Interrupts::requested();
    return std::move(outcome_);
  }

 private:
  /// A failed rehearsal is never kept, since its cause may have been mended outside of study and worker; nor is one of
  /// a command, whose files may have changed.
  bool isKept(const Point& point) const {
    const bool again = options_.again || setup_.workloadOf(point).command;
    const rehearsal::Point* seen = again ? nullptr : known_.find(point.id);
    return seen && (seen->outcome == Outcome::Runs || seen->outcome == Outcome::DoesNotFit) && seen->cards == cards_ &&
           seen->worker_build == setup_.workerOf(setup_.workloadOf(point)).description.build;
  }

  /// Why the point cannot be rehearsed; "" if it can.
  std::string whyNot(const Point& point) const {
    if (point.parameters.getString("loader") == "dali")
      return "DALI has its own CUDA runtime, which finds no driver on simulated GPUs";
    const auto& command = setup_.workloadOf(point).command;
    if (command && !point.parameters.get("gpus"))
      return "a command without a parameter 'gpus' is given no GPU: declare `param gpus : int in 1..1 = 1`";
    return point.unavailable;
  }

  /// Records that a point is not rehearsed, and why.
  Error leaveOut(const Point& point, std::string why) {
    rehearsal::Point seen = blank(point);
    seen.reason = std::move(why);
    outcome_.study.put(seen);
    // A real result in the file, of an earlier rehearsal on other cards, is worth more than this note.
    const rehearsal::Point* before = known_.find(point.id);
    const bool stays = before && (before->outcome != Outcome::NotRehearsed || before->reason == seen.reason);
    return stays ? Error::success() : write(seen);
  }

  /// Rehearses the process of a point, unless that was done for another one, and records what was seen. An interrupted
  /// one is not recorded.
  Error rehearse(const Point& point) {
    const Point& started = setup_.plan.startedFor(point);
    rehearsal::Point& seen = by_process_.try_emplace(started.id).first->second;
    const rehearsal::Point own = blank(point);
    if (seen.point.empty()) {
      seen = own;
      auto ended = TRY(launch(started, seen));
      if (!ended) return by_process_.erase(started.id), Error::success();
    }
    seen.point = own.point;
    seen.label = own.label;
    seen.estimates = own.estimates;
    outcome_.study.put(seen);
    return write(seen);
  }

  /// Launches a point and fills in what was seen. Returns false if it was interrupted.
  Expected<bool> launch(const Point& point, rehearsal::Point& seen) {
    TrialNote shown;
    shown.rehearsal = true;
    shown.point_label = seen.label;
    shown.done = outcome_.rehearsed;
    shown.expected = expected_;
    // The mean time of the points so far is the forecast for the others.
    if (shown.done > 0) shown.remaining_seconds = spent_seconds_ / shown.done * (expected_ - shown.done);
    listener_.trialStarted(shown);
    // Missing data does not keep the point from being rehearsed: the worker makes data up, and the rest may show more
    // to mend.
    const std::string missing = missingData(point);
    const auto progress = [&](const protocol::Event& event) {
      listener_.trialProgress(shown, event.phase, event.done, event.total);
    };
    TrialRequest asked = request(point);
    const bool command = setup_.workloadOf(point).command.has_value();
    // Services of an earlier point would take memory of the cards.
    if (!command) TRY(commands_.end());
    auto end = TRY(command ? commands_.run(point, std::move(asked), progress) : runner_.run(asked, progress));
    if (end.status == TrialStatus::Interrupted) return false;
    seen.worker_build = setup_.workerOf(setup_.workloadOf(point)).description.build;
    const bool runs = end.status == TrialStatus::Valid, here = end.host_memory;
    seen.outcome = runs ? missing.empty() ? Outcome::Runs : Outcome::LacksData
                   : end.status == TrialStatus::Infeasible && !here ? Outcome::DoesNotFit
                                                                    : Outcome::Failed;
    seen.reason = runs ? missing : end.reason;
    // A rehearsal takes memory of the machine that it runs on, which says nothing of the one that it is for.
    if (here) seen.reason = fmt::format("this machine's own memory does not suffice to rehearse it: {}", seen.reason);
    seen.rehearsed = std::move(end.rehearsed);
    seen.notes = std::move(end.notes);
    seen.seconds = end.seconds;
    spent_seconds_ += seen.seconds;
    ++outcome_.rehearsed;
    listener_.trialEnded(shown, end.status, seen.seconds, end.reason);
    return true;
  }

  /// Why a run would be refused for lack of data; "" if all is there. In a rehearsal the worker makes data up in its
  /// place, so that the rest of the point is seen.
  std::string missingData(const Point& point) const {
    for (const std::string& path : store::dataPathsOf(point, setup_.plan.data_paths))
      if (auto missing = inputs::checkDataExists(setup_.plan, path)) return toString(std::move(missing));
    return "";
  }

  /// A timed trial of a few steps, with the seed of the first block and the first set of devices.
  TrialRequest request(const Point& point) const {
    constexpr TrialKind kind = TrialKind::Timed;
    TrialRequest request =
        requestFor(setup_, point, point.id, kind, blockSeed(setup_.plan.design.seed, setup_.plan.study, kind, 0));
    protocol::TrialSpec& spec = request.spec;
    spec.rehearsal = true;
    // The limit of all processes together: data that they hold, or make up, must not take all of this machine's memory.
    spec.memory_limit = setup_.machine.memory_bytes / 5 * 4;
    request.log_prefix = fmt::format("{}/logs/{}", folder_, point.id);
    if (setup_.workloadOf(point).command) return request;
    spec.settings = json::Object{{"steps", kSteps}, {"warmup", kWarmup}};
    placeRanks(request, partsOf(setup_, setup_.lane(0), {}, point),
               setup_.workerOf(setup_.workloadOf(point)).description.isOneProcess(spec.workload, spec.parameters));
    spec.memory_limit /= spec.world_size;
    request.timeout_seconds = options_.timeout_seconds.value_or(judge::kDefaultTimeoutSeconds);
    return request;
  }

  /// The record of a point without a result.
  rehearsal::Point blank(const Point& point) const {
    rehearsal::Point seen;
    seen.point = point.id;
    seen.label = setup_.plan.label(point);
    if (seen.label.empty()) seen.label = "the only point";
    seen.estimates = point.estimates;
    seen.cards = cards_;
    seen.at = launch::Clock::real().wall();
    return seen;
  }

  Error write(const rehearsal::Point& point) {
    known_.put(point);
    return rehearsal::write(options_.results, known_);
  }

  const Setup& setup_;
  const RehearsalOptions& options_;
  const std::string folder_;
  ProgressListener& listener_;
  rehearsal::Cards cards_;
  rehearsal::Study known_;  // the contents of the file
  RehearsalOutcome outcome_;
  std::unique_ptr<Launcher> launcher_;
  launch::TrialRunner runner_;
  CommandRehearser commands_;
  std::map<std::string, rehearsal::Point> by_process_;  // id of what was launched -> what was seen
  unsigned expected_ = 0;                               // points to launch
  double spent_seconds_ = 0;
};

/// Everything that can refuse a rehearsal without touching the results folder.
Expected<Setup> prepare(const Plan& plan, const RehearsalOptions& options, ProgressListener& listener) {
  assert(options.null_gpus && "a rehearsal runs on simulated GPUs only");
  Setup setup;
  setup.plan = plan;
  TRY(findSlots(setup, options, listener));
  if (!std::getenv(kDrop)) setup.environment.push_back(fmt::format("{}={}", kDrop, kDropped));
  // The parameter `numa` changes times only, which a rehearsal does not measure.
  markUnavailable(setup, /*places=*/false);
  setup.command_environment = TRY(commandEnvironment(ownVariables(), {}));
  for (const plan::Workload& workload : plan.workloads) TRY(findWorker(setup, options, workload));
  auto files = inputs::findCommandFiles(setup.plan, options.results);
  if (files) {
    setup.command_files = std::move(*files);
    if (!setup.plan.processes().empty()) setup.plan.indexPoints();  // points were marked since the last index
    return setup;
  }
  // A program that this machine lacks keeps nothing else from being rehearsed.
  const std::string why = toString(files.takeError());
  for (Point& point : setup.plan.points)
    if (setup.workloadOf(point).command) point.unavailable = why;
  return setup;
}

}  // namespace

Expected<RehearsalOutcome> rehearse(const Plan& plan, const RehearsalOptions& options, ProgressListener& listener) {
  const Interrupts interrupts;
  RehearsalOptions absolute = options;
  absolute.results = std::filesystem::absolute(options.results).lexically_normal().string();
  TRY(checkHost({plan.root, absolute.results}));
  auto setup = TRY(prepare(plan, absolute, listener));
  const std::string folder = rehearsal::folderOf(absolute.results);
  TRY(files::makeFolder(folder + "/logs"));
  std::vector<std::string> messages;
  // The lease is of the folder of rehearsals, not of the store.
  auto lease = store::Lease::acquire(folder, "rehearse", messages);
  for (const std::string& message : messages) listener.message(message);
  if (!lease) return lease.takeError();
  return Rehearser(setup, absolute, *lease, listener).run();
}

}  // namespace expc::engine
