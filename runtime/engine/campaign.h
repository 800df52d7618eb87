#pragma once

// The blocks and trials of one run, once everything that can refuse it has been checked. Private to this directory.

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/engine/engine.h"
#include "runtime/engine/interrupts.h"
#include "runtime/engine/local_launcher.h"
#include "runtime/engine/pace.h"
#include "runtime/engine/setup.h"
#include "runtime/engine/traces.h"
#include "runtime/engine/trial_runner.h"
#include "runtime/store/store.h"

namespace expc::engine {

/// Opens the session, starts the workers and appends blocks until analysis::nextBlock asks for nothing more.
class Campaign {
 public:
  Campaign(const Setup& setup, const EngineOptions& options, store::Store& store, const Interrupts& interrupts,
           ProgressListener& listener, Traces& traces, RunOutcome& outcome);
  llvm::Error run(store::Results results);

 private:
  enum class BlockEnd { Whole, Interrupted };

  llvm::Error openSession();
  /// Load on every slot, so that the first trial of a session does not find an idle machine's clocks.
  llvm::Error heatSlots();
  llvm::Error prepareCommands();
  llvm::Error prepareCommand(const plan::Point& point, const std::string& folder);
  llvm::Error runKind(plan::TrialKind kind);
  llvm::Expected<bool> allFailed(plan::TrialKind kind, const store::BlockPlan& block);
  llvm::Expected<std::optional<store::BlockPlan>> unfinishedBlock(plan::TrialKind kind);
  llvm::Expected<store::BlockPlan> newBlock(plan::TrialKind kind, const std::vector<std::string>& points);
  llvm::Expected<BlockEnd> runBlock(const store::BlockPlan& block);
  /// One place of a block, with its retries.
  llvm::Expected<BlockEnd> runPlace(const store::BlockPlan& block, unsigned position, std::vector<store::Trial> before);
  llvm::Expected<store::Trial> runAttempt(const store::BlockPlan& block, unsigned position, const plan::Point& point,
                                          unsigned attempt);
  TrialRequest request(const store::BlockPlan& block, const plan::Point& point, const store::Trial& trial,
                       const std::vector<unsigned>& slots);
  void tidy(const std::string& folder, store::TrialStatus status) const;
  TrialNote note(const store::BlockPlan& block, const plan::Point& point, const store::Trial& trial) const;
  llvm::Error tick();
  /// The folder of what ranks print, made if it is not there.
  std::string logs() const;
  llvm::Error reload();
  void say(std::string text);
  void sayWidths(plan::TrialKind kind);
  void count(const store::Trial& trial);
  bool isOver(const std::vector<store::Trial>& trials, unsigned position) const;

  const Setup& setup_;
  const plan::Plan& plan_;
  const EngineOptions& options_;
  store::Store& store_;
  const Interrupts& interrupts_;
  ProgressListener& listener_;
  RunOutcome& outcome_;

  store::Results results_;
  std::vector<uint64_t> left_at_block_;  // trials still needed by each kind when the present block began
  std::vector<uint64_t> done_in_block_;
  Pace pace_;
  Traces& traces_;
  int64_t session_ = 0;
  bool session_is_new_ = false;
  LocalLauncher launcher_;
  std::chrono::steady_clock::time_point last_heartbeat_{}, last_touch_{};
};

/// Kinds of the plan in the order they run: timed first.
std::vector<plan::TrialKind> kindsInOrder(const plan::Plan& plan);

/// Does any kind still lack trials?
bool needsTrials(const plan::Plan& plan, const store::Results& results);

/// Whether the trials that count have taken as long as the plan's budget allows; false without one.
bool budgetSpent(const plan::Plan& plan, const store::Results& results);
/// "the budget of 24 h is spent (24 h of trials): …" with the way to go on.
std::string budgetText(const plan::Plan& plan, const store::Results& results);

/// Unix time with fractions.
double now();

}  // namespace expc::engine
