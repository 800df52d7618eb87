#pragma once

// Processes of ranks. A process that ran a rank of a command waits for another rank with the same place, over a channel
// of its own (runtime/protocol/trial.h), which saves a fork for each trial. And: whether a killed process is really
// gone.

#include <llvm/Support/JSON.h>
#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "runtime/base/descriptor.h"
#include "runtime/base/llvm.h"

namespace expc::engine::launch {

/// The binding of a process: it can run any later rank with an equal one.
struct ProcessPlace {
  unsigned rank = 0;
  json::Array slots;
  uint64_t memory_limit = 0;

  bool operator==(const ProcessPlace& other) const = default;
};

/// A process that runs a rank, or has run one and waits for another. Without a channel it ends with its rank.
struct RankProcess {
  uint64_t launch = 0;  // number of the launch that its server forked it for; its name from then on
  int pid = 0;          // 0: not known yet
  Descriptor channel;   // -1: none. Once this is closed, the process ends by itself
  unsigned launches = 1;
  ProcessPlace place;
};

/// The processes that wait for a rank.
class WaitingProcesses {
 public:
  /// Keeps a process, unless it has no channel or has run enough ranks. With too many, the one that waits longest ends.
  void add(RankProcess process);
  /// Removes and returns a process that is bound to `place`, if there is one.
  std::optional<RankProcess> take(const ProcessPlace& place);
  /// Forgets the process of that launch, which has ended.
  void drop(uint64_t launch);
  void clear() { processes_.clear(); }

 private:
  std::deque<RankProcess> processes_;  // the one that waits longest comes first
};

/// The state letter of /proc/PID/stat, for example 'R' or 'D' (proc(5)); '\0' if there is no such process or it is a
/// zombie. `proc` is where /proc is mounted, for tests.
char processState(pid_t pid, const std::string& proc = "/proc");

/// Waits up to 5 s for the end of a process that was killed; false if it is still there.
bool waitUntilGone(pid_t pid, const std::string& proc = "/proc");

/// "process 12, in state D (…)": names a killed process that does not die. State D means that it waits in the kernel
/// for a device or a file system; it dies only once that answers.
std::string stuckText(pid_t pid, const std::string& proc = "/proc");

}  // namespace expc::engine::launch
