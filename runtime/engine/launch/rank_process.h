#pragma once

// Processes of ranks: those that run one rank of a command after the other, each told over a channel of its own
// (runtime/protocol/trial.h), and whether one that was killed is really gone.

#include <llvm/Support/JSON.h>
#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "runtime/base/descriptor.h"

namespace expc::engine::launch {

/// Where a rank runs: a process that was bound there can run another one with the same.
struct ProcessPlace {
  unsigned rank = 0;
  llvm::json::Array slots;
  uint64_t memory_limit = 0;

  bool operator==(const ProcessPlace& other) const = default;
};

/// A process that runs a rank, or has run one and waits for another. Without a channel it ends with its rank.
struct RankProcess {
  uint64_t launch = 0;       // that its server forked it for, and by which it is known from then on
  int pid = 0;               // once that is known
  base::Descriptor channel;  // closed, it ends by itself
  unsigned launches = 1;
  ProcessPlace place;
};

/// Those that wait.
class WaitingProcesses {
 public:
  void add(RankProcess process);
  /// One that is bound there.
  std::optional<RankProcess> take(const ProcessPlace& place);
  /// The one of that launch is gone.
  void drop(uint64_t launch);
  void clear() { processes_.clear(); }

 private:
  std::deque<RankProcess> processes_;  // the one that waits longest first
};

/// The state letter of /proc/PID/stat, e.g. 'R', 'D'; '\0' where there is no such process, or only its exit status is
/// left. `proc` is where /proc is.
char processState(pid_t pid, const std::string& proc = "/proc");

/// Waits a few seconds for the end of a process that was killed; false where it is still there.
bool waitUntilGone(pid_t pid, const std::string& proc = "/proc");

/// "process 12, in state D (…)" of one that was killed and does not die: one in state D, which waits for a device or a
/// file system that does not answer, dies only when that answers.
std::string stuckText(pid_t pid, const std::string& proc = "/proc");

}  // namespace expc::engine::launch
