#pragma once

// The blocks and trials of one run, from the first session to the last record, once everything that can refuse the run
// has been checked. Private to this directory.
//
// A Campaign carries out what others decide: the Scheduler says what a lane runs next, judge::nextBlock which trials
// are missing, launch::TrialWatch how a trial ended, validity::judge whether a disturbance spoils it. Two files
// implement it: campaign.cpp sessions, blocks and the end of the run, campaign_flights.cpp the trials under way.
// Everything but the heat-up of cores runs in one thread, so no state needs a lock.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/engine/inputs/data.h"
#include "runtime/engine/inputs/trial_folders.h"
#include "runtime/engine/launch/clock.h"
#include "runtime/engine/launch/launcher.h"
#include "runtime/engine/launch/trial_runner.h"
#include "runtime/engine/options.h"
#include "runtime/engine/scheduler.h"
#include "runtime/engine/services.h"
#include "runtime/engine/setup.h"
#include "runtime/engine/traces.h"
#include "runtime/engine/trial_request.h"
#include "runtime/judge/index.h"
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

  /// Passes messages of launchers and nodes on to the listener.
  launch::Say tell() const {
    return [&told = listener](const std::string& text) { told.message(text); };
  }
  store::Moment now() const { return {clock.wall(), clock.boot()}; }
  /// The record of the run that the store keeps; it refers to `session`.
  store::Run record(int64_t session) const;
};

// Preparations run once for several trials of a command, for example a build or a download. They run before the first
// trial, so that nothing is built between two trials that are compared.

/// Adds the digests of prepared files to `setup.match` and watches these files. Trials count only where these digests
/// agree. If a folder is not prepared yet, its files get the digest of the newest run in `known` that has one, since
/// the folder may only have been removed. Error: a file cannot be read, or `tick` failed.
Error digestPrepared(Setup& setup, const std::string& results, const store::Contents& known, const inputs::Tick& tick);

/// Runs the preparation of one point in `folder`, with its log below `results`. Error: it failed or timed out, or the
/// disk is full. An interrupt is success without a mark, so that the next run prepares again.
Error prepareCommand(const Setup& setup, const std::string& results, launch::TrialRunner& runner,
                     ProgressListener& listener, const launch::Clock& clock, const Point& point,
                     const std::string& folder);

/// Runs the preparations whose folders are not filled yet. Returns true if the prepared files now differ from what
/// digestPrepared() assumed: then other trials count, and the caller must load the results anew. Error: a preparation
/// failed. An interrupt returns false.
Expected<bool> prepareCommands(const Env& env, Launcher& launcher);

/// Opens a session for each lane of the launcher and appends blocks until judge::nextBlock asks for nothing more.
class Campaign {
 public:
  /// `index` holds the trials that count already and receives the new ones. `leases` are those of this machine's
  /// devices. All arguments must outlive the campaign.
  Campaign(const Env& env, Launcher& launcher, const machine::DeviceLeases& leases, judge::Index& index);
  /// Runs blocks until nothing is missing or something ends the run, and records how it ended in the store and in
  /// Env::outcome. Errors are those of the environment (store, launcher, a changed input); trials that fail are no
  /// error.
  Error run();

 private:
  /// The state of a lane between two trials.
  struct Lane {
    int64_t session = 0;
    double last_active = 0;  // boot time
    unsigned empty = 0;      // blocks in a row in which no trial was started
    bool busy = false;
    bool told = false;   // the user knows that it is closed
    std::string closed;  // why nothing runs in it any more: a process that does not die, a lost node; "": open
  };
  /// A trial under way. A command may need several launches for it: a program that runs before each start, starts that
  /// do not count, and at last the start that is measured. The store and the user see one trial.
  struct Flight {
    unsigned lane = 0;
    double begin = 0;  // boot time of the first launch; 0: nothing was launched yet
    Trial trial;
    const Point* point = nullptr;
    store::Block block;
    std::vector<NodePart> parts;
    TrialRequest request;
    int64_t uncounted = 0;      // starts that do not count, still to come
    bool before = false;        // the current or last launch is the program that runs before a start
    bool counts = true;         // the current launch is the one that is measured
    double seconds_before = 0;  // duration of the launches that do not count
    TrialNote note;
  };

  Error prepare();
  /// Continues the lane's newest session if that is possible, else opens a new one.
  Error openSession(unsigned lane);
  Expected<bool> continueSession(unsigned lane, const store::SessionPlace& place);
  void resumeBlock(unsigned lane);
  /// Puts load on every slot, so that the first trial of a session does not run at the clock rates of an idle machine.
  Error heatSlots();
  Error heatGpusOf(const LaneDevices& lane);

  Error runBlocks();
  /// Gives an idle lane its next trial, or leaves it idle. A lane that runs nothing keeps no service up.
  Error advance(unsigned lane);
  /// Returns whether the lane waits, and keeps its services meanwhile.
  Expected<bool> nextStep(unsigned lane);
  /// Starts the step's trial once its services are ready. Returns whether the lane waits for them.
  Expected<bool> startWithServices(unsigned lane, const Step& step);
  /// Abandons the lane's block and opens a new session if nothing ran in the lane for kSessionGapSeconds, since trials
  /// of one block must be near in time.
  Error mindGap(unsigned lane);
  /// Whether the block is expected to end kBeforeEnd before the allocation does, by the typical durations so far.
  /// Places without a duration count as 0, so with nothing measured a block may begin until that moment.
  bool endsInTime(const Step& step) const;
  Error beginBlock(unsigned lane, const Step& step);
  /// Reports interval widths and the budget. If every trial of the kind failed so far, closes the kind.
  void blockOver(TrialKind kind);
  Error startTrial(unsigned lane, const Step& step, std::vector<NodePart> parts);
  /// Launches the next process of the flight: the program that runs before a start, a start that does not count, or the
  /// start that is measured. Error: it cannot be launched, or somebody removes the results folder.
  Error launch(const std::shared_ptr<Flight>& flight);
  Error tryLaunch(const std::shared_ptr<Flight>& flight);
  /// Takes the end of one launch: launches the next one, or finishes the trial.
  Error landed(const std::shared_ptr<Flight>& flight, TrialEnd end);
  /// Error: a file that trials of the point read has changed since the run began.
  Error checkFiles(const Point& point);
  /// Decides what the end of the last launch means for the trial, writes it to the store, then counts it. Error: the
  /// store cannot be written, or an input changed while the trial ran.
  Error finish(Flight& flight, TrialEnd end);
  /// Tells index, scheduler, forecast and listener of a stored trial.
  void count(const Flight& flight);
  /// Closes the lane whose trial left processes that do not die (`stuck`), since they keep its devices. Error: no lane
  /// is left.
  Error closeLane(const Flight& flight, const std::vector<int>& stuck);
  /// Closes the lanes on nodes that are gone. Error: no lane is left and nobody asked the run to end.
  Error closeLostLanes();
  /// Marks the trial invalid if a reading exceeds the design's limits, and adds the readings to its environment.
  void judgeReadings(const validity::Readings& readings, TrialEnd& end);
  TrialNote noteOf(const Flight& flight) const;
  /// Keeps or removes the folder of a command's trial, as options and status say.
  void tidy(const Flight& flight);
  void drop(const std::string& folder);

  /// Whether no further trial is started: an interrupt, or --fail-fast after a failure.
  bool stopping() const;
  /// Tells the user why the run ends and records it. The order of the cases is their precedence.
  Error end(int64_t run);
  /// Keeps lease and sessions alive; called at least once a second while trials run. Error: the lease is lost.
  Error tick();
  void sayWidths(TrialKind kind);
  void sayBudget(TrialKind kind);

  const Env& env_;
  const Setup& setup_;
  const Plan& plan_;
  const EngineOptions& options_;
  Launcher& launcher_;
  const machine::DeviceLeases& leases_;
  judge::Index& index_;
  RunOutcome& outcome_;

  inputs::FileWatch files_;
  inputs::TrialFolders folders_;
  std::vector<Lane> lanes_;
  Scheduler scheduler_;
  Forecast forecast_;
  launch::TrialRunner runner_;
  Services services_;
  std::map<unsigned, unsigned> alone_;  // node -> lane whose next or present trial runs alone on it
  int64_t run_ = 0;
  unsigned done_ = 0;        // trials of this run that have a result
  unsigned known_ = 0;       // trials for which the share of cores that others took is known
  unsigned crowded_ = 0;     // trials in which others took cores while the design sets no limit on that
  double crowded_most_ = 0;  // the largest share that others took, 0 to 1
  std::string told_;         // reason of the last trial that did not end well
  std::string told_left_;    // what was said last of processes that `before` left behind
  bool new_session_ = false, all_failed_ = false, out_of_time_ = false, budget_told_ = false, told_stays_ = false;
  double last_touch_ = 0;
};

/// Whether the trials that count have taken as long as the plan's budget allows; false without one.
bool budgetSpent(const judge::Index& index);

/// "the same command continues"; with --fresh a text that says to leave that option out, since --fresh measures
/// everything once more.
std::string wayOn(const EngineOptions& options);

/// "the budget of 24 h is spent (24 h of trials): …" with the way to go on.
std::string budgetText(const judge::Index& index, const EngineOptions& options);

}  // namespace expc::engine
