#pragma once

// The blocks and trials of one run, once everything that can refuse it has been checked. Private to this directory.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/analysis/index.h"
#include "runtime/engine/inputs/data.h"
#include "runtime/engine/inputs/trial_folders.h"
#include "runtime/engine/launch/clock.h"
#include "runtime/engine/launch/launcher.h"
#include "runtime/engine/launch/trial_runner.h"
#include "runtime/engine/options.h"
#include "runtime/engine/scheduler.h"
#include "runtime/engine/setup.h"
#include "runtime/engine/traces.h"
#include "runtime/engine/trial_request.h"
#include "runtime/machine/leases.h"
#include "runtime/store/store.h"

namespace expc::engine {

/// The environment of a run, once its results folder is its own.
struct Env {
  Setup& setup;
  const EngineOptions& options;
  store::Store& store;
  ProgressListener& listener;
  Traces& traces;
  RunOutcome& outcome;
  const launch::Clock& clock = *options.clock;

  launch::Say tell() const {
    return [&told = listener](const std::string& text) { told.message(text); };
  }
  store::Moment now() const { return {clock.wall(), clock.boot()}; }
  /// The record of the run that the store keeps, in that session.
  store::Run record(int64_t session) const;
};

// What runs once for several trials of a command, a build or a download: before the first trial, so that nothing is
// built between two that are compared.

/// Adds to what must agree, and watches, the files that trials are started with from the folders of preparations. Of a
/// folder that is still to be made it is what the newest run in `known` found there, which may have been removed.
llvm::Error digestPrepared(Setup& setup, const std::string& results, const store::Contents& known,
                           const inputs::Tick& tick);

/// Fills the folders that are not there. Whether these files are others by that than digestPrepared() took them for:
/// then other trials count.
llvm::Expected<bool> prepareCommands(const Env& env, launch::Launcher& launcher);

/// Opens a session for each lane of the launcher and appends blocks until analysis::nextBlock asks for nothing more.
class Campaign {
 public:
  /// `index` holds what counts already, and gets what is measured. `leases` are of the devices of this machine.
  Campaign(const Env& env, launch::Launcher& launcher, const machine::DeviceLeases& leases, analysis::Index& index);
  llvm::Error run();

 private:
  /// The state of a lane between two trials.
  struct Lane {
    int64_t session = 0;
    double last_active = 0;  // boot time
    unsigned empty = 0;      // blocks in a row of which no trial was started
    bool busy = false;
    bool told = false;   // that it is closed
    std::string closed;  // why nothing runs in it any more: a process that does not die, a lost node; "": it is open
  };
  /// A trial under way.
  struct Flight {
    unsigned lane = 0;
    double begin = 0;  // boot time; 0: nothing of it was started yet
    store::Trial trial;
    const plan::Point* point = nullptr;
    store::Block block;
    std::vector<NodePart> parts;
    launch::TrialRequest request;
    int64_t uncounted = 0;      // starts before the one that counts, still to come
    bool before = false;        // what runs now, or ran last, is what runs before a start
    bool counts = true;         // what runs now is the trial itself
    double seconds_before = 0;  // of what does not count
    TrialNote note;
  };

  llvm::Error prepare();
  llvm::Error openSession(unsigned lane);
  llvm::Expected<bool> continueSession(unsigned lane, const store::SessionPlace& place);
  void resumeBlock(unsigned lane);
  /// Load on every slot, so that the first trial of a session does not find an idle machine's clocks.
  llvm::Error heatSlots();
  llvm::Error heatGpusOf(const LaneDevices& lane);

  llvm::Error runBlocks();
  /// Gives an idle lane its next trial, or leaves it idle.
  llvm::Error advance(unsigned lane);
  /// Trials of one block are near in time: after a gap the lane's block is left and another session opened.
  llvm::Error mindGap(unsigned lane);
  /// Whether a block of these places is expected to be over before the allocation's end; with nothing measured yet, any
  /// that can be begun before it is.
  bool endsInTime(const Step& step) const;
  llvm::Error beginBlock(unsigned lane, const Step& step);
  void blockOver(plan::TrialKind kind);
  llvm::Error startTrial(unsigned lane, const Step& step);
  /// Starts what is next of it: all of it, a start that does not count, what runs before one.
  llvm::Error launch(const std::shared_ptr<Flight>& flight);
  /// Takes the end of what was started for the flight.
  llvm::Error landed(const std::shared_ptr<Flight>& flight, launch::TrialEnd end);
  /// An error where what a trial of the point reads has changed since the run began.
  llvm::Error checkFiles(const plan::Point& point);
  llvm::Error finish(Flight& flight, launch::TrialEnd end);
  /// Nothing is measured any more on devices that processes keep; the error where no lane is left.
  llvm::Error closeLane(const Flight& flight, const std::vector<int>& stuck);
  /// Closes the lanes on nodes that are gone.
  llvm::Error closeLostLanes();
  /// Marks the trial invalid if a reading exceeds the design's limits.
  void judgeReadings(const validity::Readings& readings, launch::TrialEnd& end);
  TrialNote noteOf(const Flight& flight) const;
  void tidy(const Flight& flight);
  void drop(const std::string& folder);

  bool stopping() const;
  llvm::Error end(int64_t run);
  llvm::Error tick();
  void sayWidths(plan::TrialKind kind);
  void sayBudget(plan::TrialKind kind);

  const Env& env_;
  const Setup& setup_;
  const plan::Plan& plan_;
  const EngineOptions& options_;
  launch::Launcher& launcher_;
  const machine::DeviceLeases& leases_;
  analysis::Index& index_;
  RunOutcome& outcome_;

  inputs::FileWatch files_;
  inputs::TrialFolders folders_;
  std::vector<Lane> lanes_;
  Scheduler scheduler_;
  Forecast forecast_;
  launch::TrialRunner runner_;
  std::map<unsigned, unsigned> alone_;  // by node, the lane for whose next or present trial its others stand still
  int64_t run_ = 0;
  unsigned known_ = 0;       // trials of which it is known what others took
  unsigned crowded_ = 0;     // trials of which others took cores, without a limit of it
  double crowded_most_ = 0;  // the largest share that they took
  std::string told_;         // the last reason that a trial did not end well for
  bool new_session_ = false, all_failed_ = false, out_of_time_ = false, budget_told_ = false, told_stays_ = false;
  double last_touch_ = 0;
};

/// Whether the trials that count have taken as long as the plan's budget allows; false without one.
bool budgetSpent(const analysis::Index& index);

/// "the same command continues", where it does: with --fresh it would begin once more.
std::string wayOn(const EngineOptions& options);

/// "the budget of 24 h is spent (24 h of trials): …" with the way to go on.
std::string budgetText(const analysis::Index& index, const EngineOptions& options);

}  // namespace expc::engine
