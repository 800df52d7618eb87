#pragma once

// Trials from their start to their end, on any launcher.

#include <llvm/Support/Error.h>

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "runtime/engine/inputs/data.h"
#include "runtime/engine/launch/clock.h"
#include "runtime/engine/launch/launcher.h"
#include "runtime/engine/launch/trial_watch.h"

namespace expc::engine::launch {

/// What hears of a trial. An error of `ended` ends the run.
struct TrialHooks {
  std::function<llvm::Error(TrialEnd)> ended;
  std::function<void(const protocol::Event&)> progress = nullptr;
};

class TrialRunner {
 public:
  /// What it is given must outlive it. `tick` is called at least once a second while it attends to trials; its error
  /// ends the run.
  TrialRunner(Launcher& launcher, const Clock& clock, inputs::Tick tick)
      : launcher_(launcher), clock_(clock), tick_(std::move(tick)) {}

  /// Starts one beside those that are under way. One that an interrupt keeps from being started has ended with that.
  llvm::Error start(TrialRequest request, TrialHooks hooks);
  bool isIdle() const { return trials_.empty(); }
  /// Listens to the trials under way until something happened, and takes it in. The error is the environment's (the
  /// launcher's, the tick's, that of a hook), and all are killed then; whatever a worker does wrong is in TrialEnd.
  llvm::Error attend();
  /// One trial, with none beside it, from its start to its end. An error also where a process of it does not die.
  llvm::Expected<TrialEnd> run(const TrialRequest& request,
                               std::function<void(const protocol::Event&)> progress = nullptr);

 private:
  struct Trial {
    Trial(TrialRequest what, double now, TrialHooks told)
        : request(std::move(what)), watch(request, now), hooks(std::move(told)) {}
    TrialRequest request;
    TrialWatch watch;
    TrialHooks hooks;
  };

  llvm::Error listen();

  Launcher& launcher_;
  const Clock& clock_;
  const inputs::Tick tick_;
  std::map<uint64_t, Trial> trials_;  // by the launcher's number
  double next_look_ = 0;
};

/// Why a run ends that has no devices left but those of a process that does not die.
llvm::Error besideStuck(const std::string& who);

/// Logs in which nothing stands are gone.
void removeEmptyLogs(const TrialRequest& request);

}  // namespace expc::engine::launch
