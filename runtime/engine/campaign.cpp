#include "runtime/engine/campaign.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <thread>

#include "runtime/analysis/format.h"
#include "runtime/analysis/needs.h"
#include "runtime/base/failure.h"
#include "runtime/engine/launch/heat_up.h"
#include "runtime/engine/launch/interrupts.h"
#include "runtime/engine/launch/trial_runner.h"
#include "runtime/engine/trial_request.h"
#include "runtime/plan/find.h"
#include "runtime/plan/json_record.h"
#include "runtime/plan/trial.h"
#include "runtime/stats/design.h"

namespace expc::engine {
namespace {

// A session is closed by a gap this long (docs/layers/engine.md).
constexpr double kSessionGapSeconds = 30 * 60;
// The start of CUDA on a machine with many GPUs.
constexpr double kCudaStarts = 120;

/// "1.3 %" of a relative half-width, else in the subject's unit.
std::string widthText(const plan::Plan& plan, const analysis::UntilState& state, double width) {
  if (state.until.relative) return analysis::formatQuantity(width, "", "share");
  if (const plan::Comparison* comparison = plan::named(plan.comparisons, state.until.subject))
    return analysis::formatQuantity(width, comparison->unit);
  const plan::Metric* metric = plan.findMetric(state.until.subject);
  return analysis::formatQuantity(width, metric ? metric->unit : "", metric ? metric->dimension : "");
}

store::Outcome complete(const analysis::Index& index) {
  const plan::KindDesign* design = analysis::endedAtLook(index);
  if (!design) return {store::Outcome::Complete};
  return {store::Outcome::AtLook, analysis::repetitionsAsked(index, *design)};
}

}  // namespace

store::Run Env::record(int64_t session) const {
  store::Run run;
  run.study = setup.plan.study;
  run.plan_digest = setup.plan.digest;
  run.plan_json = plan::canonicalJson(plan::toJson(setup.plan));
  run.session = session;
  run.match = setup.match;
  run.started = now();
  return run;
}

bool budgetSpent(const analysis::Index& index) {
  const std::optional<double>& budget = index.plan().design.budget_seconds;
  return budget && index.spentSeconds() >= *budget;
}

std::string wayOn(const EngineOptions& options) {
  return options.fresh ? "the command without --fresh continues with all that is kept (with it, everything is measured "
                         "once more)"
                       : "the same command continues";
}

std::string budgetText(const analysis::Index& index, const EngineOptions& options) {
  return fmt::format(
      "the budget of {} is spent ({} of trials): stopped at the end of a block. Raise it (-D design.budget=TIME) and "
      "{}",
      durationText(*index.plan().design.budget_seconds), durationText(index.spentSeconds()), wayOn(options));
}

Campaign::Campaign(const Env& env, launch::Launcher& launcher, const machine::DeviceLeases& leases,
                   analysis::Index& index)
    : env_(env),
      setup_(env.setup),
      plan_(env.setup.plan),
      options_(env.options),
      launcher_(launcher),
      leases_(leases),
      index_(index),
      outcome_(env.outcome),
      files_(env.setup.files),
      folders_(env.options.results),
      lanes_(launcher.describe().lanes),
      scheduler_(index, lanes_.size(), env.options.attempts),
      forecast_(index, lanes_.size()),
      runner_(launcher, env.clock, [this] { return tick(); }) {}

llvm::Error Campaign::run() {
  for (unsigned lane = 0; lane < lanes_.size(); ++lane)
    if (auto error = openSession(lane)) return error;
  auto run = env_.store.addRun(env_.record(lanes_.front().session));
  if (!run) return run.takeError();
  run_ = *run;
  if (auto error = prepare()) {
    if (!launch::Interrupts::requested()) return error;
    llvm::consumeError(std::move(error));
  } else if (auto failed = runBlocks()) {
    return failed;
  }
  return end(run_);
}

/// All that comes before the first trial, so that nothing comes between two that are compared.
llvm::Error Campaign::prepare() {
  if (new_session_)
    if (auto error = heatSlots()) return error;
  for (unsigned lane = 0; lane < lanes_.size(); ++lane) {
    lanes_[lane].last_active = env_.clock.boot();
    resumeBlock(lane);
  }
  return llvm::Error::success();
}

llvm::Error Campaign::end(int64_t run) {
  env_.listener.finished();
  if (crowded_ > 0) {
    const uint64_t untold = outcome_.trials > known_ ? outcome_.trials - known_ : 0;
    env_.listener.say("{} of {} trials shared their cores with other processes, which took up to {:.0f} %{}", crowded_,
                      outcome_.trials, crowded_most_ * 100,
                      untold ? fmt::format("; of {} that were too short, or failed, it cannot be told", untold) : "");
  }
  using Outcome = store::Outcome;
  const auto done = [&](Ending ending, Outcome outcome) {
    outcome_.ending = ending;
    return env_.store.endRun(run, env_.now(), outcome, store::judgedOf(plan_));
  };
  if (launch::Interrupts::requested()) {
    env_.listener.say("interrupted; {} trial{} of this run {} kept, and {}", outcome_.valid,
                      outcome_.valid == 1 ? "" : "s", outcome_.valid == 1 ? "is" : "are", wayOn(options_));
    return done(Ending::Interrupted, {Outcome::Interrupted});
  }
  if (out_of_time_ && needsTrials(index_)) {
    // Started again it would end in the same way, for ever.
    if (outcome_.trials == 0)
      return llvm::joinErrors(
          env_.store.endRun(run, env_.now(), {Outcome::OutOfTime}),
          base::failure("no block would end two minutes before this allocation does, and none was measured in "
                        "it: ask for more time, or for a study with smaller blocks"));
    env_.listener.say("the allocation ends before another block would: stopped at the end of a block, and {}",
                      wayOn(options_));
    return done(Ending::Interrupted, {Outcome::OutOfTime});
  }
  if (const auto& failed = index_.firstFailedForGood(); options_.fail_fast && failed) {
    env_.listener.say("stopped at the first place that failed for good: {}", failureText(index_, *failed));
    return done(Ending::Incomplete, {Outcome::Failed});
  }
  if (needsTrials(index_) && budgetSpent(index_)) {
    env_.listener.message(budgetText(index_, options_));
    return done(Ending::BudgetSpent, {Outcome::BudgetSpent});
  }
  if (!analysis::lacksTrials(index_)) {
    if (const std::string text = endedAtLookText(index_); !text.empty()) env_.listener.message(text);
    return done(Ending::Complete, complete(index_));
  }
  // Where every trial failed, that was said with the reason.
  if (const std::string text = shortfallText(index_); !all_failed_ && !text.empty()) env_.listener.message(text);
  return done(Ending::Incomplete, {Outcome::Incomplete});
}

llvm::Error Campaign::openSession(unsigned lane) {
  const launch::LauncherDescription launcher = launcher_.describe();
  const store::SessionPlace place = sessionPlace(setup_, lane, launcher);
  const machine::Machine& machine = setup_.machineOf(setup_.lane(lane));
  lanes_[lane].last_active = env_.clock.boot();
  auto goes_on = lanes_[lane].session == 0 ? continueSession(lane, place) : llvm::Expected<bool>(false);
  if (!goes_on) return goes_on.takeError();
  if (*goes_on) return llvm::Error::success();
  store::Session session;
  session.where = place;
  session.workers = setup_.match.workers();
  llvm::json::Array slots;
  for (const machine::Slot& slot : setup_.lane(lane).slots) slots.push_back(slot.toJson());
  session.environment_json =
      plan::canonicalJson(llvm::json::Object{{"machine", plan::written(machine)},
                                             {"launcher", launcher.name},
                                             {"system", llvm::json::Object(options_.system)},
                                             {"slots", std::move(slots)},
                                             {"libraries", setup_.built_in ? setup_.built_in->description.libraries
                                                                           : llvm::json::Value(llvm::json::Object{})}});
  session.opened = session.last_seen = env_.now();
  auto id = env_.store.addSession(session);
  if (!id) return id.takeError();
  session.id = lanes_[lane].session = *id;
  index_.add(session);
  new_session_ = true;
  env_.listener.say("session {} on {}: {}", session.id, session.where.text(),
                    machine::summary(machine, setup_.lane(lane).slots));
  return llvm::Error::success();
}

/// Whether the newest session there is the lane's: the same boot and workers, and seen a short time ago.
llvm::Expected<bool> Campaign::continueSession(unsigned lane, const store::SessionPlace& place) {
  const store::Session* latest = env_.store.latestSession(place);
  if (!latest) return false;
  const store::Session& session = *latest;
  const double gap = env_.clock.boot() - session.last_seen.boot;
  if (session.where != place || session.workers != setup_.match.workers() || gap < 0 || gap > kSessionGapSeconds)
    return false;
  lanes_[lane].session = session.id;
  index_.add(session);
  if (gap > 1) env_.listener.say("session {} goes on (last seen {} ago)", session.id, durationText(gap));
  if (auto error = env_.store.touchSession(session.id, env_.now())) return error;
  return true;
}

/// The last block of the lane's session, if it was cut and can go on: same settings, and all that ended in it counts.
void Campaign::resumeBlock(unsigned lane) {
  const store::BlockPlan* block = env_.store.latestBlock(lanes_[lane].session, plan_.study);
  if (!block || options_.fresh) return;
  const plan::TrialKind kind = block->block.kind;
  if (block->settings != store::settingsText(plan_, kind)) return;
  const std::vector<store::Trial> trials = env_.store.contents().trialsOf(block->block.id);
  for (const store::Trial& trial : trials)
    if (trial.status != store::TrialStatus::Interrupted && !index_.has(trial.id)) return;
  if (!scheduler_.isOpen(*block, trials)) return;
  env_.listener.blockStarted(kind, block->block.number, block->places.size());
  scheduler_.begin(lane, *block, trials);
  forecast_.renew();
}

llvm::Error Campaign::heatSlots() {
  const double seconds = options_.heat_up_seconds;
  if (seconds <= 0) return llvm::Error::success();
  if (!setup_.nodes) {
    std::thread cores([&] { launch::heatUp(setup_.slots, seconds, [&] { return launch::Interrupts::requested(); }); });
    llvm::Error error = heatGpusOf({setup_.slots, {}, 0, {}});
    cores.join();
    return error;
  }
  const auto question = [&](const nodes::Node&) {
    return llvm::json::Object{{"heat", llvm::json::Object{{"seconds", seconds}}}};
  };
  auto heated = setup_.nodes->ask("heated", question, env_.tell(), [this] { return tick(); });
  if (!heated) return heated.takeError();
  for (const LaneDevices& lane : setup_.lanes) {
    if (auto error = heatGpusOf(lane)) return error;
    for (const LaneDevices& other : lane.beyond)
      if (auto error = heatGpusOf(other)) return error;
  }
  return llvm::Error::success();
}

/// Heats each GPU by a process of the worker, all at the same time (the start of CUDA comes on top).
llvm::Error Campaign::heatGpusOf(const LaneDevices& lane) {
  if (!setup_.slots.front().gpu || setup_.builtInPath().empty()) return llvm::Error::success();
  launch::TrialRequest request;
  request.nodes = {lane.node};
  request.spec.trial = "heat-up";
  request.spec.workload = plan::kHeatUp;
  request.spec.settings = llvm::json::Object{{"seconds", options_.heat_up_seconds}};
  request.log_prefix = logFolder(options_.results) + "/heat-up";
  request.timeout_seconds = options_.heat_up_seconds + kCudaStarts;
  std::vector<unsigned> all(lane.slots.size());
  std::iota(all.begin(), all.end(), 0u);
  placeRanks(request, {{setup_.machineOf(lane), lane.slots, all, ""}}, /*one_process=*/false);
  auto end = runner_.run(request);
  if (!end) return end.takeError();
  if (end->status != store::TrialStatus::Valid && !launch::Interrupts::requested())
    env_.listener.say("the GPUs are not heated up: {}", end->reason);
  return llvm::Error::success();
}

llvm::Error Campaign::mindGap(unsigned lane) {
  const double gap = env_.clock.boot() - lanes_[lane].last_active;
  if (gap <= kSessionGapSeconds) return llvm::Error::success();
  env_.listener.say("nothing ran for {}: the block that was under way is left, and a new session begins",
                    durationText(gap));
  scheduler_.abandon(lane);
  return openSession(lane);
}

bool Campaign::endsInTime(const Step& step) const {
  if (!options_.ends_at) return true;
  double seconds = 0;
  for (const plan::Place& place : step.places) seconds += index_.typicalSeconds(step.kind, place.point).value_or(0);
  return env_.clock.boot() + seconds <= *options_.ends_at - kBeforeEnd;
}

llvm::Error Campaign::beginBlock(unsigned lane, const Step& step) {
  store::BlockPlan plan;
  plan.block.study = plan_.study;
  plan.block.kind = step.kind;
  plan.block.number = env_.store.contents().nextBlockNumber(plan_.study, step.kind);
  const uint64_t seed = blockSeed(plan_.design.seed, plan_.study, step.kind, plan.block.number);
  plan.block.seed = trialSeed(plan_, seed);
  plan.block.session = lanes_[lane].session;
  plan.settings = store::settingsText(plan_, step.kind);
  plan.places = blockOrder(step.places, seed);
  auto id = env_.store.addBlock(plan);
  if (!id) return id.takeError();
  plan.block.id = *id;
  forecast_.renew();
  env_.listener.blockStarted(step.kind, plan.block.number, plan.places.size());
  scheduler_.begin(lane, std::move(plan));
  return llvm::Error::success();
}

void Campaign::blockOver(plan::TrialKind kind) {
  sayWidths(kind);
  sayBudget(kind);
  if (!index_.onlyFailed(kind)) return;
  const analysis::PlaceOutcomes* newest = nullptr;  // says why they were lost
  for (unsigned number = 0; number < index_.places(); ++number)
    if (const auto& place = index_.of(kind, number); !newest || place.last_lost > newest->last_lost) newest = &place;
  // The next block would cost as much and end alike.
  scheduler_.close(kind);
  all_failed_ = true;
  env_.listener.finished();
  env_.listener.say(
      "every {} trial {}, so no further block of them is started. Mend what is wrong, and {}; the reason: {}",
      plan::toString(kind), index_.tally().failed > 0 ? "failed" : "was disturbed", wayOn(options_),
      newest ? newest->last_reason : "");
}

bool Campaign::stopping() const {
  return launch::Interrupts::requested() || (options_.fail_fast && index_.firstFailedForGood());
}

/// At the end of a block beyond the least number: how far the intervals are from what is asked.
void Campaign::sayWidths(plan::TrialKind kind) {
  if (!analysis::looksAtWidths(index_, kind)) return;
  for (const analysis::UntilState& state : analysis::untilStates(index_, kind)) {
    if (state.blocks < plan::designOf(plan_, kind)->repeat) continue;
    const std::string where = state.where.empty() ? "" : " at " + state.where;
    std::string text = fmt::format("after {} of at most {} repetitions: ", state.blocks, state.most);
    text += state.widest ? fmt::format("half-width of {} {}{}, {} asked", state.until.subject,
                                       widthText(plan_, state, *state.widest), where,
                                       widthText(plan_, state, state.until.half_width))
                         : fmt::format("no interval of {} yet{}", state.until.subject, where);
    env_.listener.message(text);
  }
}

/// At the end of the first block that shows it: that the budget ends the run before a claim has any interval.
void Campaign::sayBudget(plan::TrialKind kind) {
  if (budget_told_ || !plan_.design.budget_seconds) return;
  const auto claim = std::ranges::find_if(plan_.criteria, [&](const plan::Criterion& criterion) {
    return criterion.confidence && !criterion.cells.empty() && criterion.cells.front().kind == kind;
  });
  if (claim == plan_.criteria.end()) return;
  const analysis::Remaining left = analysis::remaining(index_, kind);
  const double budget = *plan_.design.budget_seconds;
  if (left.blocks == 0) return;
  const double block = index_.typicalSeconds(kind).value_or(0) * double(left.trials) / left.blocks;
  const double more = std::ceil(std::max(0.0, budget - index_.spentSeconds()) / block);  // a block that is begun ends
  const double ends = analysis::fewestRepetitions(index_, kind) + more;
  const unsigned fewest = stats::minimumPairs(*claim->confidence);
  budget_told_ = block > 0 && ends < fewest;
  if (budget_told_)
    env_.listener.say(
        "the budget of {} is spent after about {:.0f} {} repetitions, and {} has no interval before {}: "
        "raise it (-D design.budget=TIME), or make trials shorter",
        durationText(budget), ends, plan::toString(kind), claim->name, fewest);
}

}  // namespace expc::engine
