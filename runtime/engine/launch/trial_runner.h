#pragma once

// Runs trials from start to end on any launcher: feeds the launcher's reports to a TrialWatch for each trial, does what
// it says (wait, kill, ended), and calls back. Campaigns, rehearsals, preparations and heat-ups all go through here.
//
// Nothing runs in the background: the owner calls attend() until it is done.

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "runtime/base/llvm.h"
#include "runtime/engine/inputs/data.h"
#include "runtime/engine/launch/clock.h"
#include "runtime/engine/launch/launcher.h"
#include "runtime/engine/launch/trial_watch.h"

namespace expc::engine::launch {

/// Callbacks of a trial; all but `ended` may be null.
struct TrialHooks {
  /// Called once, with how the trial ended; its error ends the run.
  std::function<Error(TrialEnd)> ended;
  /// Gets the progress events of rank 0; of a service also why it fails.
  std::function<void(const protocol::Event&)> progress = nullptr;
  /// Tells of a service whether it is to end. An interrupt does not end it, this does.
  std::function<bool()> over = nullptr;
  /// Why the trial cannot go on: how a service of it ended; null if it can.
  std::function<const TrialEnd*()> doomed = nullptr;
};

/// The trials under way on one launcher. Not thread-safe.
class TrialRunner {
 public:
  /// The arguments must outlive it. `tick` is called at least once a second while trials are attended to; its error
  /// ends the run.
  TrialRunner(Launcher& launcher, const Clock& clock, inputs::Tick tick)
      : launcher_(launcher), clock_(clock), tick_(std::move(tick)) {}

  /// Starts a trial beside those under way. If an interrupt keeps it from being started, it has ended as interrupted:
  /// `ended` is called at once. Error: the environment's, and nothing was started.
  Error start(TrialRequest request, TrialHooks hooks);
  bool isIdle() const { return trials_.empty(); }
  /// Waits until something happened to a trial, and handles it. Errors are those of the environment: of the launcher,
  /// the tick or a callback; all trials are killed then. Whatever a worker does wrong is in TrialEnd.
  Error attend();
  /// Runs one trial, with none beside it but its services, from start to end; `progress` and `doomed` as in TrialHooks.
  /// Also an error if a process of it does not die.
  Expected<TrialEnd> run(const TrialRequest& request, std::function<void(const protocol::Event&)> progress = nullptr,
                         std::function<const TrialEnd*()> doomed = nullptr);

 private:
  struct Trial {
    Trial(TrialRequest what, double now, TrialHooks told)
        : request(std::move(what)), watch(request, now), hooks(std::move(told)) {}
    TrialRequest request;
    TrialWatch watch;
    TrialHooks hooks;
    double told_at = 0;  // boot time at which a service was told to end; 0: it was not
  };

  Error listen();
  /// Ends services that are to end.
  void endServices(double now);

  Launcher& launcher_;
  const Clock& clock_;
  const inputs::Tick tick_;
  std::map<uint64_t, Trial> trials_;  // by the launcher's number
  double next_look_ = 0;
};

/// The error of a run that has no devices left except those of a process that does not die; `who` from stuckText().
Error besideStuck(const std::string& who);

/// Removes the logs of the trial's ranks that are empty.
void removeEmptyLogs(const TrialRequest& request);

}  // namespace expc::engine::launch
