#include "runtime/engine/campaign.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <thread>

#include "runtime/analysis/format.h"
#include "runtime/analysis/needs.h"
#include "runtime/engine/heat_up.h"
#include "runtime/engine/schedule.h"

namespace expc::engine {
namespace {

using store::TrialStatus;

// A session is closed by a gap this long (DESIGN §4).
constexpr double kSessionGapSeconds = 30 * 60;
constexpr auto kHeartbeat = std::chrono::seconds(10);
constexpr auto kTouch = std::chrono::seconds(60);

bool isEnd(TrialStatus status) {
  return status == TrialStatus::Valid || status == TrialStatus::Timeout || status == TrialStatus::Infeasible;
}

/// Did some point not get the repetitions that the design asks for, though nothing more will be tried?
bool lacksTrials(const plan::Plan& plan, const store::Results& results) {
  std::map<std::pair<plan::TrialKind, std::string>, std::set<int64_t>> ended;
  for (const store::Trial& trial : results.trials) {
    if (isEnd(trial.status) && trial.label.empty()) ended[{trial.kind, trial.point}].insert(trial.block);
  }
  for (const plan::KindDesign& design : plan.design.kinds) {
    for (const plan::Point& point : plan.points) {
      // Two blocks without memory settle it, however many were planned.
      bool infeasible =
          std::count_if(results.trials.begin(), results.trials.end(), [&](const store::Trial& trial) {
            return trial.kind == design.kind && trial.place() == point.id && trial.status == TrialStatus::Infeasible;
          }) >= 2;
      if (point.startable() && !infeasible && ended[{design.kind, point.id}].size() < design.repeat) return true;
    }
  }
  return false;
}

/// What the trials that count took, whichever run they are of.
double spentSeconds(const store::Results& results) {
  double seconds = 0;
  for (const store::Trial& trial : results.trials) seconds += std::max(0.0, trial.ended - trial.started);
  return seconds;
}

/// "1.3 %" of a relative half-width, else in the subject's unit.
std::string widthText(const plan::Plan& plan, const analysis::UntilState& state, double width) {
  if (state.until.relative) return analysis::formatQuantity(width, "", "share");
  for (const plan::Comparison& comparison : plan.comparisons)
    if (comparison.name == state.until.subject) return analysis::formatQuantity(width, comparison.unit);
  const plan::Metric* metric = plan.findMetric(state.until.subject);
  return analysis::formatQuantity(width, metric ? metric->unit : "", metric ? metric->dimension : "");
}

LocalWorkers localWorkers(const Setup& setup, const std::string& results) {
  return {setup.built_in ? setup.built_in->path : "", setup.command ? setup.command->path : "", setup.environment,
          results + "/worker-server.log"};
}

}  // namespace

std::vector<plan::TrialKind> kindsInOrder(const plan::Plan& plan) {
  std::vector<plan::TrialKind> kinds;
  for (plan::TrialKind kind : {plan::TrialKind::Timed, plan::TrialKind::Quality, plan::TrialKind::Profile}) {
    for (const plan::KindDesign& design : plan.design.kinds) {
      if (design.kind == kind) kinds.push_back(kind);
    }
  }
  return kinds;
}

bool needsTrials(const plan::Plan& plan, const store::Results& results) {
  auto kinds = kindsInOrder(plan);
  return std::any_of(kinds.begin(), kinds.end(),
                     [&](plan::TrialKind kind) { return !analysis::nextBlock(plan, kind, results).empty(); });
}

bool budgetSpent(const plan::Plan& plan, const store::Results& results) {
  return plan.design.budget_seconds && spentSeconds(results) >= *plan.design.budget_seconds;
}

std::string budgetText(const plan::Plan& plan, const store::Results& results) {
  return fmt::format(
      "the budget of {} is spent ({} of trials): stopped at the end of a block. Raise it "
      "(-D design.budget=TIME) and the same command continues",
      durationText(*plan.design.budget_seconds), durationText(spentSeconds(results)));
}

Campaign::Campaign(const Setup& setup, const EngineOptions& options, store::Store& store, const Interrupts& interrupts,
                   ProgressListener& listener, Traces& traces, RunOutcome& outcome)
    : setup_(setup),
      plan_(setup.plan),
      options_(options),
      store_(store),
      interrupts_(interrupts),
      listener_(listener),
      outcome_(outcome),
      traces_(traces),
      launcher_(localWorkers(setup, options.results), interrupts, [this](std::string text) { say(std::move(text)); }) {}

llvm::Error Campaign::run(store::Results results) {
  results_ = std::move(results);
  pace_.learn(results_);
  if (auto error = openSession()) return error;
  store::Run record;
  record.study = plan_.study;
  record.plan_digest = plan_.digest;
  record.plan_json = plan::canonicalJson(plan::toJson(plan_));
  record.session = session_;
  record.match = setup_.match;
  record.started = now();
  auto run = store_.addRun(record);
  if (!run) return run.takeError();
  auto end = [&](Ending ending, std::string_view outcome) {
    outcome_.ending = ending;
    return store_.endRun(*run, now(), outcome);
  };

  if (auto error = launcher_.ready()) {
    if (!interrupts_.requested()) return error;
    llvm::consumeError(std::move(error));
    return end(Ending::Interrupted, "interrupted");
  }
  if (auto error = prepareCommands()) return error;
  if (session_is_new_) {
    if (auto error = heatSlots()) return error;
  }
  for (plan::TrialKind kind : kindsInOrder(plan_)) {
    if (interrupts_.requested() || budgetSpent(plan_, results_)) break;
    if (auto error = runKind(kind)) return error;
  }
  launcher_.stop();
  if (interrupts_.requested()) {
    listener_.finished();
    say(fmt::format("interrupted; {} trial{} of this run {} kept, and the same command continues", outcome_.valid,
                    outcome_.valid == 1 ? "" : "s", outcome_.valid == 1 ? "is" : "are"));
    return end(Ending::Interrupted, "interrupted");
  }
  if (needsTrials(plan_, results_) && budgetSpent(plan_, results_)) {
    listener_.finished();
    say(budgetText(plan_, results_));
    return end(Ending::BudgetSpent, "budget spent");
  }
  return lacksTrials(plan_, results_) ? end(Ending::Incomplete, "incomplete") : end(Ending::Complete, "complete");
}

llvm::Error Campaign::openSession() {
  auto latest = store_.latestSession();
  if (!latest) return latest.takeError();
  double time = now();
  if (*latest) {
    const store::Session& session = **latest;
    double gap = time - session.last_seen;
    if (session.host == setup_.machine.host && session.boot_id == setup_.machine.boot_id &&
        session.worker_build == setup_.match.worker_build &&
        session.environment_class == setup_.match.environment_class && gap <= kSessionGapSeconds) {
      session_ = session.id;
      if (gap > 1)
        say(fmt::format("session {} goes on (last seen {} ago)", session_, durationText(std::max(0.0, gap))));
      return store_.touchSession(session_, time);
    }
  }
  store::Session session;
  session.host = setup_.machine.host;
  session.boot_id = setup_.machine.boot_id;
  session.environment_class = setup_.match.environment_class;
  session.worker_build = setup_.match.worker_build;
  llvm::json::Array slots;
  for (const machine::Slot& slot : setup_.slots) slots.push_back(slot.toJson());
  session.environment_json =
      plan::canonicalJson(llvm::json::Object{{"machine", machine::toJson(setup_.machine)},
                                             {"slots", std::move(slots)},
                                             {"libraries", setup_.built_in ? setup_.built_in->description.libraries
                                                                           : llvm::json::Value(llvm::json::Object{})}});
  session.opened = session.last_seen = time;
  auto id = store_.addSession(session);
  if (!id) return id.takeError();
  session_ = *id;
  session_is_new_ = true;
  say(fmt::format("session {} on {}: {}", session_, session.host, machine::summary(setup_.machine, setup_.slots)));
  return llvm::Error::success();
}

llvm::Error Campaign::heatSlots() {
  const double seconds = options_.heat_up_seconds;
  if (seconds <= 0) return llvm::Error::success();
  // A program of the user's heats nothing before it is measured.
  const bool gpus = setup_.slots.front().gpu && setup_.built_in;
  std::thread cores([&] { heatUp(setup_.slots, seconds, interrupts_); });
  auto cold = gpus ? heatGpus(launcher_, setup_.machine, setup_.slots, logs() + "/heat-up", seconds, interrupts_,
                              [this] { return tick(); })
                   : llvm::Expected<std::string>("");
  cores.join();
  if (!cold) return cold.takeError();
  if (!cold->empty() && !interrupts_.requested()) say("the GPUs are not heated up: " + *cold);
  return llvm::Error::success();
}

llvm::Error Campaign::runKind(plan::TrialKind kind) {
  auto unfinished = unfinishedBlock(kind);
  if (!unfinished) return unfinished.takeError();
  while (!interrupts_.requested()) {
    std::vector<std::string> points = analysis::nextBlock(plan_, kind, results_);
    sayWidths(kind);
    if (points.empty()) break;
    if (!*unfinished && budgetSpent(plan_, results_)) break;
    left_at_block_.clear();
    for (plan::TrialKind each : kindsInOrder(plan_)) {
      left_at_block_.push_back(analysis::remaining(plan_, each, results_).trials);
    }
    done_in_block_.assign(left_at_block_.size(), 0);
    store::BlockPlan block;
    if (*unfinished) {
      block = std::move(**unfinished);
      unfinished->reset();
    } else {
      auto made = newBlock(kind, points);
      if (!made) return made.takeError();
      block = std::move(*made);
    }
    listener_.blockStarted(kind, block.block.number, block.points.size());
    auto end = runBlock(block);
    if (!end) return end.takeError();
    if (auto error = reload()) return error;
    if (*end == BlockEnd::Interrupted) break;
    auto hopeless = allFailed(kind, block);
    if (!hopeless) return hopeless.takeError();
    if (*hopeless) break;
    // A reader's convenience: what was measured is safe without it, and a full disk will be told at the next trial.
    if (auto error = store_.publishSnapshot()) say("no snapshot for readers: " + llvm::toString(std::move(error)));
  }
  return llvm::Error::success();
}

/// Whether a block was the first of its kind and every trial in it failed: the next would cost as much and end alike.
llvm::Expected<bool> Campaign::allFailed(plan::TrialKind kind, const store::BlockPlan& block) {
  for (const store::Trial& trial : results_.trials)
    if (trial.kind == kind && isEnd(trial.status)) return false;
  auto trials = store_.trialsOfBlock(block.block.id);
  if (!trials) return trials.takeError();
  if (trials->empty() || trials->back().status != TrialStatus::Failed) return false;
  listener_.finished();
  say(fmt::format(
      "every trial of the first block failed, so no further one is started. Mend what is wrong, and the same "
      "command continues; the last reason: {}",
      trials->back().reason));
  return true;
}

/// The last block of this session, study and kind, if it can go on: same settings, and all that ended in it counts.
llvm::Expected<std::optional<store::BlockPlan>> Campaign::unfinishedBlock(plan::TrialKind kind) {
  std::optional<store::BlockPlan> none;
  if (session_is_new_) return none;
  auto blocks = store_.blocksOfSession(session_, plan_.study);
  if (!blocks) return blocks.takeError();
  for (auto block = blocks->rbegin(); block != blocks->rend(); ++block) {
    if (block->block.kind != kind) continue;
    if (block->settings != store::settingsText(plan_, kind)) return none;
    auto trials = store_.trialsOfBlock(block->block.id);
    if (!trials) return trials.takeError();
    for (const store::Trial& trial : *trials) {
      bool counts = std::any_of(results_.trials.begin(), results_.trials.end(),
                                [&](const store::Trial& t) { return t.id == trial.id; });
      if (!counts && trial.status != TrialStatus::Interrupted) return none;
    }
    for (unsigned position = 0; position < block->points.size(); ++position) {
      const plan::Point* point = plan_.findPoint(store::partsOf(block->points[position]).point);
      if (point && point->startable() && !isOver(*trials, position)) return std::move(*block);
    }
    return none;  // only the last one can have been cut
  }
  return none;
}

llvm::Expected<store::BlockPlan> Campaign::newBlock(plan::TrialKind kind, const std::vector<std::string>& points) {
  auto number = store_.nextBlockNumber(plan_.study, kind);
  if (!number) return number.takeError();
  store::BlockPlan plan;
  plan.block.study = plan_.study;
  plan.block.kind = kind;
  plan.block.number = *number;
  plan.block.seed = blockSeed(plan_.design.seed, kind, *number);
  plan.block.session = session_;
  plan.settings = store::settingsText(plan_, kind);
  plan.points = blockOrder(points, plan.block.seed);
  auto id = store_.addBlock(plan);
  if (!id) return id.takeError();
  plan.block.id = *id;
  return plan;
}

/// Has the place a result, or used up its attempts?
bool Campaign::isOver(const std::vector<store::Trial>& trials, unsigned position) const {
  unsigned failed = 0;
  for (const store::Trial& trial : trials) {
    if (trial.position != position) continue;
    if (isEnd(trial.status)) return true;
    if (trial.status == TrialStatus::Failed) ++failed;
  }
  return failed >= std::max(1u, options_.attempts);
}

llvm::Error Campaign::reload() {
  auto results = store_.load(plan_, setup_.match);
  if (!results) return results.takeError();
  results_ = std::move(*results);
  return llvm::Error::success();
}

llvm::Error Campaign::tick() {
  auto time = std::chrono::steady_clock::now();
  if (time - last_heartbeat_ >= kHeartbeat) {
    last_heartbeat_ = time;
    if (auto error = store_.heartbeat()) return error;
  }
  // A long trial must not look like a gap.
  if (time - last_touch_ >= kTouch) {
    last_touch_ = time;
    return store_.touchSession(session_, now());
  }
  return llvm::Error::success();
}

/// At the end of a block beyond the least number: how far the intervals are from what is asked.
void Campaign::sayWidths(plan::TrialKind kind) {
  for (const analysis::UntilState& state : analysis::untilStates(plan_, kind, results_)) {
    const auto design = std::find_if(plan_.design.kinds.begin(), plan_.design.kinds.end(),
                                     [&](const plan::KindDesign& entry) { return entry.kind == kind; });
    if (state.blocks < design->repeat) continue;
    const std::string where = state.where.empty() ? "" : " at " + state.where;
    std::string text = fmt::format("after {} of at most {} repetitions: ", state.blocks, state.most);
    text += state.widest ? fmt::format("half-width of {} {}{}, {} asked", state.until.subject,
                                       widthText(plan_, state, *state.widest), where,
                                       widthText(plan_, state, state.until.half_width))
                         : fmt::format("no interval of {} yet{}", state.until.subject, where);
    say(text);
  }
}

void Campaign::say(std::string text) {
  listener_.message(text);
  outcome_.messages.push_back(std::move(text));
}

}  // namespace expc::engine
