#pragma once

// The launcher of this machine: trials run through a launch server for each worker program (runtime/worker/serve),
// which is started once, loads what is slow to load, and forks a process for each rank. Agents on other nodes use the
// same class.

#include <memory>
#include <string>

#include "runtime/base/llvm.h"
#include "runtime/engine/launch/clock.h"
#include "runtime/engine/launch/launcher.h"
#include "runtime/engine/launch/worker_client.h"

namespace expc::engine::launch {

/// The worker programs and how to start them.
struct LocalWorkers {
  std::string built_in, command;
  Environment environment;  // variables added to those of this process
  std::string log;          // file for the servers' own output
  std::string nvml = "";    // NVML library for watching the GPUs; "": no GPU is used
};

/// Makes a launcher of this machine. Its destruction ends the servers and all that they run. A server is started for
/// its first trial, or now if `ready` is set. A server that died is started again, three times in all. Error: with
/// `ready`, a server cannot be started, or an interrupt came while it started. `clock` must outlive the launcher.
Expected<std::unique_ptr<Launcher>> launcherHere(LocalWorkers workers, Say say, const Clock& clock = Clock::real(),
                                                 unsigned lanes = 1, bool ready = true);

}  // namespace expc::engine::launch
