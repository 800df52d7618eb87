// Campaign: sessions, blocks, heat-up and the end of the run. Results of earlier runs come in through the index;
// sessions and blocks go out to the store. Trials themselves are in campaign_flights.cpp.
//
// The invariant of this file: trials that are compared with each other are of one block, a block belongs to one
// session, and a session never spans a restart of the machine or a gap of half an hour. So pairs never cross a change
// of the machine's state.

#include "runtime/engine/campaign.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <thread>

#include "runtime/base/failure.h"
#include "runtime/base/format.h"
#include "runtime/base/json_record.h"
#include "runtime/base/llvm.h"
#include "runtime/base/numbers.h"
#include "runtime/base/text.h"
#include "runtime/engine/launch/heat_up.h"
#include "runtime/engine/launch/interrupts.h"
#include "runtime/engine/launch/trial_runner.h"
#include "runtime/engine/trial_request.h"
#include "runtime/judge/format.h"
#include "runtime/judge/needs.h"
#include "runtime/machine/probe.h"
#include "runtime/machine/slots.h"
#include "runtime/protocol/trial.h"
#include "runtime/stats/design.h"

namespace expc::engine {
namespace {

// A gap this long closes a session (docs/layers/engine.md).
constexpr double kSessionGapSeconds = 30 * 60;
// Seconds allowed for the start of CUDA, which is slow on a machine with many GPUs.
constexpr double kCudaStarts = 120;

/// The run's outcome for the store, with the number of repetitions if an interim analysis ended it.
store::Outcome complete(const judge::Index& index) {
  const KindDesign* design = judge::endedAtLook(index);
  if (!design) return {store::Outcome::Complete};
  return {store::Outcome::AtLook, judge::repetitionsAsked(index, *design)};
}

}  // namespace

store::Run Env::record(int64_t session) const {
  store::Run run;
  run.study = setup.plan.study;
  run.plan_digest = setup.plan.digest;
  // The whole plan is kept, so that a later reader can tell what this run was asked for.
  run.plan_json = canonicalJson(plan::toJson(setup.plan));
  run.session = session;
  run.match = setup.match;
  run.started = now();
  return run;
}

bool budgetSpent(const judge::Index& index) {
  const std::optional<double>& budget = index.plan().design.budget_seconds;
  return budget && index.spentSeconds() >= *budget;
}

std::string wayOn(const EngineOptions& options) {
  return options.fresh ? "the same command without --fresh continues (with --fresh it starts over)"
                       : "the same command continues";
}

std::string budgetText(const judge::Index& index, const EngineOptions& options) {
  return fmt::format("stopped: the budget of {} is used up ({} of trials). Raise it with -D design.budget=TIME, and {}",
                     durationText(*index.plan().design.budget_seconds), durationText(index.spentSeconds()),
                     wayOn(options));
}

Campaign::Campaign(const Env& env, Launcher& launcher, const machine::DeviceLeases& leases, judge::Index& index)
    : env_(env),
      setup_(env.setup),
      plan_(env.setup.plan),
      options_(env.options),
      launcher_(launcher),
      leases_(leases),
      index_(index),
      outcome_(env.outcome),
      files_(env.setup.files),
      lanes_(launcher.describe().lanes),
      scheduler_(index, lanes_.size(), env.options.attempts),
      forecast_(index, lanes_.size()),
      runner_(launcher, env.clock, [this] { return tick(); }),
      services_(env.setup, env.options, runner_, files_, folders_, env.listener, lanes_.size()) {}

Error Campaign::run() {
  // Sessions come first, because the run's record refers to one of them.
  for (unsigned lane = 0; lane < lanes_.size(); ++lane) TRY(openSession(lane));
  run_ = TRY(env_.store.addRun(env_.record(lanes_.front().session)));
  if (auto error = prepare()) {
    // An interrupt during the heat-up surfaces as an error of the launcher; it is a normal end of the run.
    if (!Interrupts::requested()) return error;
    consumeError(std::move(error));
  } else if (auto failed = runBlocks()) {
    return failed;
  }
  return end(run_);
}

/// Does all that comes before the first trial, so that nothing comes between two trials that are compared.
Error Campaign::prepare() {
  // A continued session is taken for warm, since it was in use at most half an hour ago.
  if (new_session_) TRY(heatSlots());
  for (unsigned lane = 0; lane < lanes_.size(); ++lane) {
    lanes_[lane].last_active = env_.clock.boot();
    resumeBlock(lane);
  }
  return Error::success();
}

Error Campaign::end(int64_t run) {
  env_.listener.finished();
  // Counted only if the design sets no limit on other_cpu, which would have judged these trials.
  if (crowded_ > 0) {
    const uint64_t untold = outcome_.trials > known_ ? outcome_.trials - known_ : 0;
    env_.listener.say("{} of {} trials shared their cores with other processes (up to {:.0f} %){}", crowded_,
                      outcome_.trials, crowded_most_ * 100,
                      untold ? fmt::format("; unknown for {} short or failed trials", untold) : "");
  }
  using Outcome = store::Outcome;
  const auto done = [&](Ending ending, Outcome outcome) {
    outcome_.ending = ending;
    return env_.store.endRun(run, env_.now(), outcome, store::claimsOf(plan_));
  };
  if (Interrupts::requested()) {
    env_.listener.say("interrupted; {} of this run {} stored, and {}", base::counted(outcome_.valid, "trial"),
                      base::are(outcome_.valid), wayOn(options_));
    return done(Ending::Interrupted, {Outcome::Interrupted});
  }
  if (out_of_time_ && needsTrials(index_)) {
    // An error, because the same command would end in the same way in every allocation of this length.
    if (outcome_.trials == 0)
      return llvm::joinErrors(
          env_.store.endRun(run, env_.now(), {Outcome::OutOfTime}),
          failure("the allocation is too short for one block: request more time, or make blocks smaller"));
    env_.listener.say("stopped: the allocation ends before another block could, and {}", wayOn(options_));
    return done(Ending::Interrupted, {Outcome::OutOfTime});
  }
  if (const auto& failed = index_.firstFailedForGood(); options_.fail_fast && failed) {
    env_.listener.say("stopped (--fail-fast): every attempt failed: {}", failureText(index_, *failed));
    return done(Ending::Incomplete, {Outcome::Failed});
  }
  if (needsTrials(index_) && budgetSpent(index_)) {
    env_.listener.message(budgetText(index_, options_));
    return done(Ending::BudgetSpent, {Outcome::BudgetSpent});
  }
  if (!judge::lacksTrials(index_)) {
    if (const std::string text = endedAtLookText(index_); !text.empty()) env_.listener.message(text);
    return done(Ending::Complete, complete(index_));
  }
  // If every trial failed, blockOver() has said so with the reason.
  if (const std::string text = shortfallText(index_); !all_failed_ && !text.empty()) env_.listener.message(text);
  return done(Ending::Incomplete, {Outcome::Incomplete});
}

Error Campaign::openSession(unsigned lane) {
  const launch::LauncherDescription launcher = launcher_.describe();
  const store::SessionPlace place = sessionPlace(setup_, lane, launcher);
  const Machine& machine = setup_.machineOf(setup_.lane(lane));
  // Opening a session counts as activity, so that mindGap() does not open a second one.
  lanes_[lane].last_active = env_.clock.boot();
  // Only the first session of a lane may be one of an earlier run. Later calls come after a gap and want a new one.
  auto goes_on = TRY(lanes_[lane].session == 0 ? continueSession(lane, place) : Expected<bool>(false));
  if (goes_on) return Error::success();
  store::Session session;
  session.where = place;
  session.workers = setup_.match.workers();
  json::Array slots;
  for (const machine::Slot& slot : setup_.lane(lane).slots) slots.push_back(slot.toJson());
  // Everything that describes the session's machine and software goes into its environment, so that a result can be
  // traced to it later.
  session.environment_json = canonicalJson(json::Object{
      {"machine", base::written(machine)},
      {"launcher", launcher.name},
      {"system", json::Object(options_.system)},
      {"slots", std::move(slots)},
      {"libraries", setup_.built_in ? setup_.built_in->description.libraries : json::Value(json::Object{})}});
  session.opened = session.last_seen = env_.now();
  session.id = lanes_[lane].session = TRY(env_.store.addSession(session));
  index_.add(session);
  new_session_ = true;
  env_.listener.say("session {} on {}: {}", session.id, session.where.text(),
                    machine::summary(machine, setup_.lane(lane).slots));
  return Error::success();
}

/// Continues the newest session of the lane's place if it has the same boot and workers and was seen less than
/// kSessionGapSeconds ago. Returns whether it did.
Expected<bool> Campaign::continueSession(unsigned lane, const store::SessionPlace& place) {
  const store::Session* latest = env_.store.latestSession(place);
  if (!latest) return false;
  const store::Session& session = *latest;
  const double gap = env_.clock.boot() - session.last_seen.boot;
  // A negative gap means that the boot clock began anew, so the session is of another boot.
  if (session.where != place || session.workers != setup_.match.workers() || gap < 0 || gap > kSessionGapSeconds)
    return false;
  lanes_[lane].session = session.id;
  index_.add(session);
  // A run that continues at once needs no message.
  if (gap > 1) env_.listener.say("session {} continues (last seen {} ago)", session.id, durationText(gap));
  TRY(env_.store.touchSession(session.id, env_.now()));
  return true;
}

/// Resumes the last block of the lane's session if an earlier run was cut short in it, its settings are those of this
/// plan, and every trial that ended in it still counts. Otherwise nothing is resumed, and its missing pairs come in new
/// blocks.
void Campaign::resumeBlock(unsigned lane) {
  const store::BlockPlan* block = env_.store.latestBlock(lanes_[lane].session, plan_.study);
  if (!block || options_.fresh) return;
  const TrialKind kind = block->block.kind;
  if (block->settings != store::settingsText(plan_, kind)) return;
  const std::vector<Trial> trials = env_.store.contents().trialsOf(block->block.id);
  // A trial that no longer counts (another program, other data) would make the rest of the block incomparable with it.
  for (const Trial& trial : trials)
    if (trial.status != TrialStatus::Interrupted && !index_.has(trial.id)) return;
  // A block with nothing left to run was complete.
  if (!scheduler_.isOpen(*block, trials)) return;
  env_.listener.blockStarted(kind, block->block.number, block->places.size());
  scheduler_.begin(lane, *block, trials);
  forecast_.renew();
}

Error Campaign::heatSlots() {
  const double seconds = options_.heat_up_seconds;
  if (seconds <= 0) return Error::success();
  // Cores and GPUs of this machine warm up at the same time: a thread heats the cores while worker processes heat the
  // GPUs.
  if (!setup_.nodes) {
    std::thread cores([&] { launch::heatUp(setup_.slots, seconds, [&] { return Interrupts::requested(); }); });
    Error error = heatGpusOf({setup_.slots, {}, 0, {}});
    cores.join();
    return error;
  }
  // Agents heat the cores of all nodes at once; then the GPUs follow, lane by lane.
  const auto question = [&](const nodes::Node&) { return json::Object{{"heat", json::Object{{"seconds", seconds}}}}; };
  TRY(setup_.nodes->ask("heated", question, env_.tell(), [this] { return tick(); }));
  for (const LaneDevices& lane : setup_.lanes) {
    TRY(heatGpusOf(lane));
    for (const LaneDevices& other : lane.beyond) TRY(heatGpusOf(other));
  }
  return Error::success();
}

/// Heats each GPU of the lane with a process of the worker, all at the same time; the start of CUDA comes on top of
/// `heat_up_seconds`.
Error Campaign::heatGpusOf(const LaneDevices& lane) {
  if (!setup_.slots.front().gpu || setup_.builtInPath().empty()) return Error::success();
  TrialRequest request;
  request.nodes = {lane.node};
  request.spec.trial = "heat-up";
  request.spec.workload = protocol::kHeatUp;
  request.spec.settings = json::Object{{"seconds", options_.heat_up_seconds}};
  request.log_prefix = logFolder(options_.results) + "/heat-up";
  // A hanging GPU must not keep the run from starting, so the heat-up has a limit.
  request.timeout_seconds = options_.heat_up_seconds + kCudaStarts;
  std::vector<unsigned> all(lane.slots.size());
  std::iota(all.begin(), all.end(), 0u);
  placeRanks(request, {{setup_.machineOf(lane), lane.slots, all, ""}}, /*one_process=*/false);
  auto end = TRY(runner_.run(request));
  // A failed heat-up is no reason to refuse the run: trials are still valid, only the first may be slower.
  if (end.status != TrialStatus::Valid && !Interrupts::requested())
    env_.listener.say("GPU warm-up skipped: {}", end.reason);
  return Error::success();
}

Error Campaign::mindGap(unsigned lane) {
  const double gap = env_.clock.boot() - lanes_[lane].last_active;
  if (gap <= kSessionGapSeconds) return Error::success();
  env_.listener.say("paused for {}: the interrupted block is dropped, and a new session starts", durationText(gap));
  // The block stays in the store as it is. What it lacks is measured in other blocks, in whole pairs.
  scheduler_.abandon(lane);
  return openSession(lane);
}

bool Campaign::endsInTime(const Step& step) const {
  if (!options_.ends_at) return true;
  // Retries are not counted, and kBeforeEnd leaves a margin for them.
  double seconds = 0;
  for (const Place& place : step.places) seconds += index_.typicalSeconds(step.kind, place.point).value_or(0);
  return env_.clock.boot() + seconds <= *options_.ends_at - kBeforeEnd;
}

Error Campaign::beginBlock(unsigned lane, const Step& step) {
  store::BlockPlan plan;
  plan.block.study = plan_.study;
  plan.block.kind = step.kind;
  plan.block.number = env_.store.contents().nextBlockNumber(plan_.study, step.kind);
  // Order and trial seeds depend on the design's seed, the study, the kind and the number alone, so a repeated study
  // draws the same ones.
  const uint64_t seed = blockSeed(plan_.design.seed, plan_.study, step.kind, plan.block.number);
  plan.block.seed = trialSeed(plan_, seed);
  plan.block.session = lanes_[lane].session;
  plan.settings = store::settingsText(plan_, step.kind);
  plan.places = blockOrder(step.places, seed, plan_);
  // The block is written before its first trial, so that a killed run can be resumed in it.
  plan.block.id = TRY(env_.store.addBlock(plan));
  forecast_.renew();
  env_.listener.blockStarted(step.kind, plan.block.number, plan.places.size());
  scheduler_.begin(lane, std::move(plan));
  return Error::success();
}

void Campaign::blockOver(TrialKind kind) {
  sayWidths(kind);
  sayBudget(kind);
  if (!index_.onlyLost(kind)) return;
  // The user sees the newest reason: earlier ones may have been mended meanwhile.
  const judge::PlaceOutcomes* newest = nullptr;  // the place with the newest loss, whose reason is shown
  bool failed = false, disturbed = false;
  for (unsigned number = 0; number < index_.places(); ++number) {
    const judge::PlaceOutcomes& place = index_.of(kind, number);
    if (!newest || place.last_lost > newest->last_lost) newest = &place;
    failed = failed || place.failed > 0;
    disturbed = disturbed || place.invalid > 0;
  }
  // The next block would cost as much and end in the same way.
  scheduler_.close(kind);
  all_failed_ = true;
  env_.listener.finished();
  const bool late = index_.timeouts(kind) > 0;
  std::vector<std::string> ends;
  if (failed || disturbed) ends.emplace_back(failed ? "failed" : "was disturbed");
  if (late) ends.emplace_back("timed out");
  env_.listener.say("stopped: every {} trial {}. Fix the cause{}, and {}. The cause: {}", plan::toString(kind),
                    base::joined(ends, " or "), late ? " or raise the limit" : "", wayOn(options_),
                    newest ? newest->last_reason : "");
}

bool Campaign::stopping() const {
  return Interrupts::requested() || (options_.fail_fast && index_.firstFailedForGood());
}

/// After each block beyond the least number: says how far the intervals are from the widths that the design asks for.
void Campaign::sayWidths(TrialKind kind) {
  if (!judge::looksAtWidths(index_, kind)) return;
  for (const judge::UntilState& state : judge::untilStates(index_, kind)) {
    // Cells that have not even the least number of repetitions have no width to speak of.
    if (state.blocks < plan::designOf(plan_, kind)->repeat) continue;
    const std::string where = base::framed(" at ", state.where);
    std::string text = fmt::format("after {} of at most {} blocks: ", state.blocks, state.most);
    text += state.widest ? fmt::format("half-width of {} is {}{} (target {})", state.until.subject,
                                       judge::widthText(plan_, state.until, *state.widest), where,
                                       judge::widthText(plan_, state.until, state.until.half_width))
                         : fmt::format("no interval of {} yet{}", state.until.subject, where);
    env_.listener.message(text);
  }
}

/// Warns, once, if the budget will end the run before a claim has any interval. The time of a block is the typical time
/// of a trial times the trials per block that are left.
void Campaign::sayBudget(TrialKind kind) {
  if (budget_told_ || !plan_.design.budget_seconds) return;
  // The first criterion with a confidence that reads this kind stands for all of them.
  const auto claim = std::ranges::find_if(plan_.criteria, [&](const Criterion& criterion) {
    return criterion.confidence && !criterion.cells.empty() && criterion.cells.front().kind == kind;
  });
  if (claim == plan_.criteria.end()) return;
  const judge::Remaining left = judge::remaining(index_, kind);
  const double budget = *plan_.design.budget_seconds;
  if (left.blocks == 0) return;
  const double block = index_.typicalSeconds(kind).value_or(0) * double(left.trials) / left.blocks;
  const double more = std::ceil(std::max(0.0, budget - index_.spentSeconds()) / block);  // the last block is finished
  const double ends = judge::fewestRepetitions(index_, kind) + more;
  const unsigned fewest = stats::minimumPairs(*claim->confidence);
  budget_told_ = block > 0 && ends < fewest;
  if (budget_told_)
    env_.listener.say(
        "the budget of {} allows about {:.0f} {} blocks, but {} needs {} for an interval: raise it with -D "
        "design.budget=TIME, or make trials shorter",
        durationText(budget), ends, plan::toString(kind), claim->name, fewest);
}

}  // namespace expc::engine
