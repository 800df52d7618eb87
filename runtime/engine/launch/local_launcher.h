#pragma once

// Runs trials on this machine: through a launch server for each worker program, which forks their ranks.

#include <llvm/Support/Error.h>

#include <memory>
#include <string>

#include "runtime/engine/launch/clock.h"
#include "runtime/engine/launch/launcher.h"
#include "runtime/engine/launch/worker_client.h"

namespace expc::engine::launch {

/// The worker programs; "" where no trial needs it.
struct LocalWorkers {
  std::string built_in, command;
  Environment environment;  // beside this process's
  std::string log;          // where the servers' own output goes
  std::string nvml = "";    // the library that knows the cards; "" where none is used
};

/// With this object the servers end, and what they run. A server is started for its first trial, or here where all are
/// to be `ready`; one that died is started again, three times in all. An interrupt while one starts is an error.
llvm::Expected<std::unique_ptr<Launcher>> launcherHere(LocalWorkers workers, Say say,
                                                       const Clock& clock = Clock::real(), unsigned lanes = 1,
                                                       bool ready = true);

}  // namespace expc::engine::launch
