#pragma once

// The options of a run and its outcome, shared by the engine and its parts. The command line fills them; nothing here
// reads files or the environment.

#include <llvm/Support/JSON.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/engine/launch/clock.h"
#include "runtime/engine/launch/launcher.h"
#include "runtime/engine/nodes/nodes.h"
#include "runtime/judge/index.h"
#include "runtime/machine/machine.h"
#include "runtime/protocol/trial.h"

namespace expc::engine {

/// The resources that trials run on, and the programs that run them.
struct Resources {
  std::string worker;                          // path of expc-worker
  std::string cuda_worker;                     // path of the worker for GPUs; "": `worker`
  std::string command_worker;                  // path of expc-worker-command; "": beside `worker`
  std::string devices;                         // as `--devices`; see machine::slots
  std::optional<machine::NullGpus> null_gpus;  // run on these instead of GPUs; see machine::probe
  uint64_t memory_limit = 0;                   // bytes of host memory that a trial may take; 0: no limit
  std::string scratch;                         // folder on a disk of each machine, for copies of data; "": none
  std::string device_locks;                    // folder of device leases (machine::leaseFolder); "": take none
  std::optional<nodes::NodesAsked> nodes;      // trials run on these; absent: on this machine
};

/// The options of one run. RunPolicy adds limits, attempts and what counts (judge/index.h).
struct EngineOptions : Resources, judge::RunPolicy {
  json::Object system;                             // the machine's values that the rules used; kept with each session
  std::string results;                             // folder; made if missing
  bool keep_trial_folders = false;                 // also those of commands' valid trials; failed ones stay anyway
  uint64_t log_limit = protocol::kLogLimit;        // bytes of a rank's log, or of an output of a command
  std::string traces;                              // folder for traces of profile trials; "": none
  bool fail_fast = false;                          // end the run at the first place without attempts left
  double heat_up_seconds = 2;                      // untimed load at the start of a session; 0: none
  std::map<std::string, std::string> locked_data;  // data path -> digest in the lock; other data is not checked
  std::vector<std::string> pass_env;               // further variables that commands get; see CommandEnvironment
  std::optional<double> ends_at;                   // boot time at which an allocation ends; see kBeforeEnd
  bool try_infeasible = false;                     // also start points that are expected infeasible
  Launcher* launcher = nullptr;                    // where trials run; null: on this machine
  const launch::Clock* clock = &launch::Clock::real();
};

/// A block is begun only if it is expected to end at least this many seconds before the allocation does.
inline constexpr double kBeforeEnd = 120;

/// How a run ended, apart from errors.
enum class Ending {
  Complete,     // everything that the plan asks for is there
  NothingToDo,  // nothing was missing before this run
  Incomplete,   // some trials failed for good; the judgement says which
  BudgetSpent,  // the plan's budget ended it at the end of a block; with a larger one the same command continues
  Interrupted   // SIGINT, SIGTERM or the end of an allocation; the same command continues
};

/// The outcome of this run: counts of its own trials by status (Tally), and how it ended.
struct RunOutcome : judge::Tally {
  Ending ending = Ending::Complete;
  unsigned reused = 0;      // valid trials of earlier runs that count
  bool null_cards = false;  // the devices are null cards, so no verdict comes from this run
};

}  // namespace expc::engine
