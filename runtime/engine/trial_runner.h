#pragma once

// One trial from its start to its end, on any launcher.

#include <llvm/Support/Error.h>

#include <functional>
#include <string>

#include "runtime/engine/clock.h"
#include "runtime/engine/interrupts.h"
#include "runtime/engine/launcher.h"
#include "runtime/engine/trial_watch.h"

namespace expc::engine {

struct TrialHooks {
  /// At least once a second; its error ends the trial and the run.
  std::function<llvm::Error()> tick;
  std::function<void(const plan::Event&)> progress;
};

/// The error is the environment's (the launcher's, the tick's); whatever the worker does wrong is in TrialEnd.
llvm::Expected<TrialEnd> runTrial(Launcher& launcher, const Interrupts& interrupts, const TrialRequest& request,
                                  const TrialHooks& hooks, const Clock& clock = Clock::real());

/// Why a run ends that has no devices left but those of a process that does not die.
llvm::Error besideStuck(const std::string& who);

/// Tells `watch` of a rank whose log has grown too large.
void watchLogs(const TrialRequest& request, TrialWatch& watch);
/// How a trial ended, once `watch` says that it did: with the tail of the log where something went wrong.
TrialEnd finishTrial(const TrialRequest& request, TrialWatch& watch);
/// Logs in which nothing stands are gone.
void removeEmptyLogs(const TrialRequest& request);

}  // namespace expc::engine
