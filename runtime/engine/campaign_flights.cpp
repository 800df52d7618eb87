// Campaign: the trials under way. Steps of the scheduler come in, launches go to the launch::TrialRunner, and ends of
// trials go to the store, then to the index, the scheduler and the listener, in this order: what is not in the store
// has not happened.
//
// Each lane runs one trial at a time. A Flight is that trial; it may take several launches (see Campaign::Flight).

#include <llvm/Support/Path.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "runtime/base/failure.h"
#include "runtime/base/files/files.h"
#include "runtime/base/files/results_folder.h"
#include "runtime/base/format.h"
#include "runtime/base/json_record.h"
#include "runtime/base/llvm.h"
#include "runtime/engine/campaign.h"
#include "runtime/engine/inputs/data.h"
#include "runtime/engine/launch/interrupts.h"
#include "runtime/engine/launch/rank_process.h"
#include "runtime/engine/not_given.h"
#include "runtime/engine/numa.h"
#include "runtime/judge/block_values.h"
#include "runtime/plan/command.h"
#include "runtime/validity/readings.h"

namespace expc::engine {
namespace {

constexpr double kTouch = 60;    // seconds between two notes that a session goes on
constexpr int kNodesEnd = 3000;  // ms that an interrupt may come later here than on the nodes
// Blocks in a row that a lane may find empty. One can be: another lane may give up all its points meanwhile. More in a
// row would be an endless loop.
constexpr unsigned kMostEmpty = 3;
// Share of a trial's cores that other processes may take before the trial gets a note about it.
constexpr double kCrowded = 0.1;

Error noProgress(TrialKind kind) {
  return failure(
      "internal error: {} blocks of {} trials had nothing to start. Results are kept. Please report this with the "
      "study file",
      kMostEmpty + 1, plan::toString(kind));
}

}  // namespace

Error Campaign::runBlocks() {
  while (true) {
    TRY(closeLostLanes());
    // Starting a trial, or giving up the right to run alone, can unblock a lane that was asked earlier in this turn. So
    // the loop ends only if nothing runs and this turn changed no such right.
    const std::map<unsigned, unsigned> had_way = alone_;
    for (unsigned lane = 0; lane < lanes_.size(); ++lane)
      if (!lanes_[lane].busy && lanes_[lane].closed.empty()) TRY(advance(lane));
    if (runner_.isIdle() && had_way == alone_) return Error::success();
    if (runner_.isIdle()) continue;  // a lane that stood still for another has its way now
    TRY(runner_.attend());
  }
}

Error Campaign::advance(unsigned lane) {
  auto waits = TRY(nextStep(lane));
  if (!waits && !lanes_[lane].busy) services_.end(lane);
  return Error::success();
}

Expected<bool> Campaign::nextStep(unsigned lane) {
  while (!stopping()) {
    // A trial of the control `run.alone` has its node for itself: all other lanes of the node stand still until it is
    // over.
    const unsigned node = setup_.lane(lane).node;
    if (const auto alone = alone_.find(node); alone != alone_.end() && alone->second != lane) return false;
    // Before the scheduler is asked, since a gap abandons the block that it would continue.
    TRY(mindGap(lane));
    const Step step = scheduler_.next(lane);
    alone_.erase(node);
    const bool alone = step.what == Step::Trial && step.place.control == plan::kAlone;
    if (alone) alone_[node] = lane;
    switch (step.what) {
      case Step::Trial:
        for (unsigned other = 0; alone && other < lanes_.size(); ++other)  // trials beside it end first
          if (other != lane && setup_.lane(other).node == node && (lanes_[other].busy || services_.any(other)))
            return true;
        // A trial whose service died fails without a start, and the lane goes on.
        if (auto waits = startWithServices(lane, step); !waits || *waits || lanes_[lane].busy) return waits;
        break;
      case Step::BlockOver:
        blockOver(step.kind);
        // startTrial() resets the count.
        if (++lanes_[lane].empty > kMostEmpty) return noProgress(step.kind);
        break;
      case Step::Block:
        // Budget and end of the allocation are checked between blocks only, so that every block that is begun is
        // complete.
        if (budgetSpent(index_)) return false;
        if (!endsInTime(step)) {
          out_of_time_ = true;
          return false;
        }
        TRY(beginBlock(lane, step));
        break;
      case Step::Wait:
      case Step::Done:
        return false;
    }
  }
  return false;
}

Expected<bool> Campaign::startWithServices(unsigned lane, const Step& step) {
  const store::Block& block = scheduler_.block(lane)->block;
  const Point& point = *plan_.findPoint(step.place.point);
  std::vector<NodePart> parts = partsOf(setup_, setup_.lane(lane), block, point);
  auto ready = TRY(services_.ready(lane, {point, block, step.position, step.attempt, parts}));
  lanes_[lane].last_active = env_.clock.boot();  // a service that starts is no gap
  if (!ready) return true;
  TRY(startTrial(lane, step, std::move(parts)));
  return false;
}

Error Campaign::startTrial(unsigned lane, const Step& step, std::vector<NodePart> parts) {
  auto flight = std::make_shared<Flight>();
  flight->lane = lane;
  lanes_[lane].empty = 0;
  flight->block = scheduler_.block(lane)->block;
  flight->point = plan_.findPoint(step.place.point);
  // Before anything is recorded: a trial on changed files would not be comparable with the earlier ones.
  TRY(checkFiles(*flight->point));
  Trial& trial = flight->trial;
  // The record goes to the store before the launch, so that a killed engine leaves a trial that is known to be cut off.
  trial.key = std::make_shared<const store::TrialKey>(store::keyOf(plan_, step.place, step.kind, setup_.match));
  trial.run = run_;
  trial.block = flight->block.id;
  trial.session = lanes_[lane].session;
  trial.position = step.position;
  trial.attempt = step.attempt;
  trial.limit = index_.limit(step.kind, step.place.point);
  json::Array devices;
  flight->parts = std::move(parts);
  // The devices of the trial as the store keeps them: the slots of the point on each node.
  for (const NodePart& part : flight->parts) {
    std::vector<unsigned> slots = part.own;
    // A command without the parameter `gpus` may use the cores of all CPU slots (see completeForCommand).
    if (setup_.workloadOf(*flight->point).command && !flight->point->parameters.get("gpus") && !part.all[0].gpu) {
      slots.resize(part.all.size());
      std::iota(slots.begin(), slots.end(), 0u);
    }
    for (const unsigned slot : slots) {
      json::Object device = part.all[slot].toJson();
      if (flight->parts.size() > 1) device["node"] = setup_.nodes->all()[part.node].name;
      devices.push_back(std::move(device));
    }
  }
  trial.devices = canonicalJson(std::move(devices));
  trial.nodes = flight->parts.size();
  trial.started = env_.clock.wall();
  trial.id = TRY(env_.store.beginTrial(trial));

  flight->request = trialRequest(setup_, options_, env_.traces, flight->parts, flight->block, *flight->point, trial);
  services_.address(lane, flight->request);
  flight->note = noteOf(*flight);
  env_.listener.trialStarted(flight->note);
  if (const TrialEnd* service = services_.death(lane)) return landed(flight, TrialEnd(*service));
  flight->uncounted = flight->request.spec.settings.getInteger("uncounted_starts").value_or(0);
  return launch(flight);
}

Error Campaign::launch(const std::shared_ptr<Flight>& flight) {
  Error error = tryLaunch(flight);
  const std::string log = flight->request.log(flight->request.first_rank);
  if (!error || files::isThere(llvm::sys::path::parent_path(log).str())) return error;
  return env_.store.explainLoss(std::move(error));
}

Error Campaign::tryLaunch(const std::shared_ptr<Flight>& flight) {
  TrialRequest start = flight->request;
  protocol::TrialSpec& spec = start.spec;
  // Commands have folders, programs that run before them, and starts that do not count; built-in workloads have none of
  // these.
  if (const auto& command = setup_.workloadOf(*flight->point).command) {
    if (!flight->before) {  // each start finds a folder like the first one did
      TRY(files_.whileLinking([&] {
        if (flight->begin != 0) drop(spec.folder);
        return folders_.make(spec.folder, setup_.command_files[flight->point->workload]);
      }));
    }
    // The program `before` and the start alternate. `counts` becomes true for the last start.
    flight->before = !flight->before && !command->before.empty();
    flight->counts = !flight->before && flight->uncounted == 0;
    // A launch that is not measured reports no metrics and keeps no output.
    if (!flight->counts) {
      spec.metrics.clear();
      spec.outputs.clear();
      spec.command = plan::Command{flight->before ? command->before : command->arguments, {}, {}, {}};
      if (!flight->before) spec.command->exit_codes = command->exit_codes, --flight->uncounted;
      if (flight->before && command->ranks) keepOnePerNode(start);
    }
  }
  TRY(env_.store.sync());  // the result of the trial before is durable first
  if (flight->begin == 0) flight->begin = env_.clock.boot();
  lanes_[flight->lane].busy = true;
  launch::TrialHooks hooks;
  hooks.ended = [this, flight](TrialEnd end) { return landed(flight, std::move(end)); };
  hooks.progress = [this, flight](const protocol::Event& event) {
    env_.listener.trialProgress(flight->note, event.phase, event.done, event.total);
  };
  hooks.doomed = [this, flight] { return services_.death(flight->lane); };
  return runner_.start(std::move(start), std::move(hooks));
}

Error Campaign::landed(const std::shared_ptr<Flight>& flight, TrialEnd end) {
  lanes_[flight->lane].busy = false;
  // A launch that is not measured and ended well only adds its time. If it failed, the trial failed.
  if (!flight->counts && end.status == TrialStatus::Valid && end.stuck.empty()) {
    flight->seconds_before += end.seconds;
    if (const std::string left = flight->before ? leftBehindText(end, "`before`") : "";
        !left.empty() && left != told_left_)
      env_.listener.message(told_left_ = left);
    return launch(flight);
  }
  // The trial is over, so it no longer keeps other lanes from running.
  std::erase_if(alone_, [&](const auto& alone) { return alone.second == flight->lane; });
  std::vector<int> stuck = end.stuck;
  // A client that lost its service fails as well, and its own words do not tell why.
  if (const TrialEnd* service = services_.death(flight->lane);
      service && end.status == TrialStatus::Failed && end.reason != service->reason) {
    end.status = service->status;
    end.reason = fmt::format("{} ({})", service->reason, end.reason);
    if (!service->log_tail.empty()) end.log_tail = service->log_tail;
  }
  const std::vector<int> stuck_services = services_.trialOver(flight->lane, end);
  stuck.insert(stuck.end(), stuck_services.begin(), stuck_services.end());
  TRY(finish(*flight, std::move(end)));
  return stuck.empty() ? Error::success() : closeLane(*flight, stuck);
}

Error Campaign::checkFiles(const Point& point) {
  return files_.check(plan_, point, setup_.command_files, setup_.match.data_digests, [this] { return tick(); });
}

Error Campaign::finish(Flight& flight, TrialEnd end) {
  Trial& trial = flight.trial;
  const TrialKind kind = trial.key->kind;
  const bool command = setup_.workloadOf(*flight.point).command.has_value();
  if (const int full = command ? inputs::noRoomBeside(flight.request.spec.folder) : 0) {
    // On a full disk neither the output nor the end of the trial says anything about the program. The run ends; the
    // trial counts as interrupted.
    unlink(flight.request.spec.outputs.c_str());
    trial.status = TrialStatus::Interrupted;
    cantFail(files_.whileLinking([&] { return tidy(flight), Error::success(); }));
    return files::cannotWrite(options_.results, full);
  }
  end.seconds += flight.seconds_before;
  // Many failures of commands are files or variables that expc did not pass on; the reason then names them.
  if (command && end.status == TrialStatus::Failed)
    end.reason += notGivenText(end.reason, *setup_.workloadOf(*flight.point).command, setup_.command_environment,
                               plan_.root, flight.request.spec.folder);
  if (!flight.counts && end.status != TrialStatus::Interrupted) {
    end.reason = fmt::format("{}: {}", flight.before ? "before" : "a start that does not count", end.reason);
    // A program that runs before the trial says nothing about memory and time of the measured one, so its time-out or
    // lack of memory is a plain failure. A start that left stuck processes has failed, too.
    if (flight.before || end.status == TrialStatus::Valid) end.status = TrialStatus::Failed;
  }
  // The inputs are checked again after the trial, since they may have changed while it ran.
  const std::string changed = end.status == TrialStatus::Valid ? toString(checkFiles(*flight.point)) : std::string();
  if (!changed.empty()) {
    TrialEnd failed;
    failed.reason = changed;
    unlink(flight.request.spec.outputs.c_str());  // the output may be of either version of the input
    failed.seconds = end.seconds;
    failed.readings = std::move(end.readings);
    end = std::move(failed);
  }
  const validity::Samples samples = end.readings ? std::exchange(end.readings->samples, {}) : validity::Samples();
  // Readings can turn a valid trial or a time-out into an invalid one, so they come before the result is stored.
  if (end.readings) judgeReadings(*end.readings, end);
  if (command) end.environment["variables"] = json::Object(setup_.command_environment.recorded);
  end.environment_json = canonicalJson(std::move(end.environment));
  static_cast<store::TrialResult&>(trial) = std::move(end);
  if (command && end.readings && !plan_.readsInOutput(plan::kEnergy))
    trial.supply(plan::kEnergy, validity::energyOf(*end.readings));
  for (const std::string& name : flight.request.spec.metrics)
    if (const plan::Outside* seen = plan::seenFromOutside(name); command && seen && seen->sampled)
      trial.supply(*plan_.findMetric(name), samples.of(name));
  for (const auto& [metric, bytes] : samples.served) trial.supply(metric, bytes);
  if (!command && meansLittle(placementOf(flight.point->parameters), setup_.machine))
    trial.notes.emplace_back(plan::Note::AnyPlace);
  for (const std::string& path : store::dataPathsOf(*flight.point, setup_.plan.data_paths))
    if (inputs::isMadeUp(setup_.plan, path)) trial.notes.emplace_back(plan::Note::MadeUp, path);
  TRY(env_.store.endTrial(trial, env_.now()));
  // Use the trial's end, not the moment at which it was noticed: if the engine was suspended, that gap must count.
  // Lanes that wait for this trial were not away either, so they count as active, too.
  for (Lane& lane : lanes_)
    if (!lane.busy) lane.last_active = std::max(lane.last_active, flight.begin + trial.seconds);
  if (!command) launch::removeEmptyLogs(flight.request);
  if (command) cantFail(files_.whileLinking([&] { return tidy(flight), Error::success(); }));
  env_.traces.ended(kind, plan_, *flight.point, trial.id, trial.status == TrialStatus::Valid);
  // The trial is stored as failed; the changed file ends the run.
  if (!changed.empty()) return failure("{}", changed);
  if (trial.status != TrialStatus::Interrupted) count(flight);
  return Error::success();
}

void Campaign::count(const Flight& flight) {
  const Trial& trial = flight.trial;
  const TrialKind kind = trial.key->kind;
  // A reason that repeats is printed in full once. `failedAsBefore` must be asked before the trial is added to the
  // index.
  const bool as_before = index_.failedAsBefore(trial);
  const bool likewise = !trial.reason.empty() && judge::withoutIds(trial.reason) == judge::withoutIds(told_);
  const std::string told = as_before ? "again for the same reason" : likewise ? "for the same reason" : trial.reason;
  if (!trial.reason.empty()) told_ = trial.reason;
  index_.add(trial);
  scheduler_.ended(flight.lane, trial);
  // A place that has no result is tried again, in this block or in another one, so the forecast still expects it.
  if (store::hasResult(trial.status)) forecast_.placeOver(kind), ++done_;
  outcome_.add(trial.status);
  env_.listener.trialEnded(noteOf(flight), trial.status, trial.seconds, told);
  const judge::PlaceOutcomes& place = index_.of(kind, trial.place());
  if (trial.status == TrialStatus::Failed && index_.givenUp(kind, *index_.number(trial.place())))
    env_.listener.say("skipping {} {} for the rest of this run: it failed {} times in a row", plan::toString(kind),
                      flight.note.point_label, place.failed_in_a_row);
  if (trial.status == TrialStatus::Timeout && index_.settled(kind, place))
    env_.listener.say("skipping {} {}: it timed out in all {} blocks, which is its result under this limit",
                      plan::toString(kind), flight.note.point_label, place.ended);
}

Error Campaign::closeLostLanes() {
  std::string told;
  bool any_open = false;
  for (unsigned number = 0; number < lanes_.size(); ++number) {
    // A busy lane is left alone: its launcher reports the trial as lost, and the next turn closes the lane.
    Lane& lane = lanes_[number];
    if (lane.closed.empty() && !lane.busy)
      for (const unsigned node : setup_.lane(number).nodes())
        if (lane.closed.empty()) lane.closed = launcher_.lost(node);
    any_open |= lane.closed.empty();
    if (lane.closed.empty() || lane.told) continue;
    lane.told = true;
    services_.end(number);
    scheduler_.abandon(number);
    std::erase_if(alone_, [&](const auto& alone) { return alone.second == number; });
    if (lane.closed != told) env_.listener.say("{}. Its block is dropped; the other nodes continue", lane.closed);
    told = lane.closed;
  }
  if (any_open) return Error::success();
  // Whoever ends all nodes of a job interrupts this process as well, but perhaps a little later. Wait for that, since
  // an interrupted run is no error.
  pollfd told_here{Interrupts::fd(), POLLIN, 0};
  poll(&told_here, 1, kNodesEnd);
  if (Interrupts::requested()) return Error::success();
  return failure("{}. No node is left. Results are kept, and {}", told, wayOn(options_));
}

Error Campaign::closeLane(const Flight& flight, const std::vector<int>& stuck) {
  // One process is named; the others are in the leases.
  const std::string who = launch::stuckText(stuck.front());
  lanes_[flight.lane].closed = who;
  lanes_[flight.lane].told = true;
  services_.end(flight.lane);
  scheduler_.abandon(flight.lane);
  // The lease names the stuck process, so that later runs are refused the device until the process is gone.
  for (const unsigned slot : flight.parts.front().own)
    for (const int pid : stuck) leases_.block(flight.parts.front().all[slot], pid);
  if (std::ranges::none_of(lanes_, [](const Lane& lane) { return lane.closed.empty(); }))
    return launch::besideStuck(who);
  env_.listener.say(
      "{}, was killed but is still running. Its block is dropped, and no more trials run on its devices; the others "
      "continue",
      who);
  return Error::success();
}

void Campaign::judgeReadings(const validity::Readings& readings, TrialEnd& end) {
  end.environment["readings"] = base::written(readings);
  known_ += readings.other_cpu.has_value();
  // Failures and lack of memory are caused by the program, whatever else ran on the machine, so readings change only
  // valid trials and time-outs.
  if (end.status != TrialStatus::Valid && end.status != TrialStatus::Timeout) return;
  const plan::Validity& validity = plan_.design.validity;
  const std::vector<validity::Flag> flags = validity::judge(readings, validity);
  if (!flags.empty()) {
    const std::string before = end.status == TrialStatus::Timeout ? end.reason + "; " : "";
    end.reason = before + validity::disturbedText(flags);
    end.status = TrialStatus::Invalid;
  }
  // A limit that could not be checked is noted, so that nobody takes the trial for one that passed it.
  for (const auto& [limit, most] : validity.limits)
    if (!validity::valueOf(readings, limit) && !(readings.gpus.empty() && validity::isOfCards(limit)))
      end.notes.emplace_back(plan::Note::LimitUnknown, limit);
  if (readings.other_cpu.value_or(0) <= kCrowded || validity.limit("other_cpu")) return;
  end.notes.emplace_back(plan::Note::Crowded, "", kCrowded);
  ++crowded_;
  crowded_most_ = std::max(crowded_most_, *readings.other_cpu);
}

/// Keeps the folder of a command's trial if the trial failed, so that the user can find out why; otherwise only with
/// --keep-trials. An interrupted trial leaves none.
void Campaign::tidy(const Flight& flight) {
  const TrialStatus status = flight.trial.status;
  // An invalid trial is repeated and tells nothing about the program, so its folder is not kept either.
  const bool ended_well = status == TrialStatus::Valid || status == TrialStatus::Invalid;
  const bool wanted = ended_well ? options_.keep_trial_folders : status != TrialStatus::Interrupted;
  if (wanted) {
    launch::removeEmptyLogs(flight.request);
    inputs::leaveInputs(flight.request.spec.folder, setup_.command_files[flight.point->workload]);
    inputs::TrialFolders::keep(flight.request.spec.folder);
  } else {
    drop(flight.request.spec.folder);
  }
}

/// Removes a trial's folder. If something cannot be removed, such as a mount, the user is told once.
void Campaign::drop(const std::string& folder) {
  const std::string stays = folders_.drop(folder);
  if (stays.empty() || std::exchange(told_stays_, true)) return;
  env_.listener.say("{}: the folder of its trial is not removed, nor are those of later trials", stays);
}

TrialNote Campaign::noteOf(const Flight& flight) const {
  const Trial& trial = flight.trial;
  TrialNote note;
  note.point_label = plan_.label(*flight.point);
  if (!trial.place().control.empty()) note.point_label += " (control " + trial.place().control + ")";
  note.kind = trial.key->kind;
  const bool over = store::hasResult(trial.status);
  forecast_.fill(note, done_ - over, over);
  return note;
}

Error Campaign::tick() {
  TRY(env_.store.heartbeat());
  const double now = env_.clock.boot();
  // Sessions are touched while trials run, so that a long trial does not look like a gap to the next run.
  if (now - last_touch_ < kTouch) return Error::success();
  last_touch_ = now;
  for (const Lane& lane : lanes_) TRY(env_.store.touchSession(lane.session, env_.now()));
  return Error::success();
}

}  // namespace expc::engine
