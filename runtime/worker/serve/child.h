#pragma once

// The process of a rank: its place on the machine, its files and its end. Specifications of trials
// come in, replies to launches go out. serve.h decides when processes start and end.

#include <llvm/Support/JSON.h>
#include <sys/types.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/protocol/packet.h"
#include "runtime/protocol/trial.h"
#include "runtime/worker/serve/memory_group.h"
#include "runtime/worker/serve/standing.h"

namespace expc::serve {

/// Runs one rank in its own process and returns the exit code, 0 if it ended well. `event_fd` is
/// for an EventWriter. It may start threads. An exception that leaves it ends the rank as `failed`
/// with its what(). When it is called:
/// - stdout and stderr go to the trial's log, stdin is /dev/null;
/// - the request's environment is set (RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT, …),
///   for a command in place of the server's;
/// - the process leads its own process group, is bound to the cores and memory of its slots, and
///   dies with the server;
/// - signals have their default actions again, except that SIGPIPE stays ignored.
using Child = std::function<int(const protocol::LaunchRequest& request, int event_fd)>;

/// Makes the forked process the rank that `request` describes, set up as Child demands. If `packet`
/// came with a channel, the process reports there that the rank ended well and takes the next
/// launch from it, until a rank does not end well or the channel is closed; otherwise it ends after
/// the first. Each rank starts from the state that the server started with (`standing`), which a
/// command may have changed in its parent; if that cannot be restored, the rank fails.
[[noreturn]] void runChild(const protocol::LaunchRequest& request, protocol::Packet packet, pid_t server,
                           const RankMemory& memory, const Standing& standing, const Child& child);

/// The reply to a launch whose process has ended; `status` as from waitpid(), `at` in
/// base::bootSeconds().
protocol::LaunchReply endOf(uint64_t launch, pid_t pid, int status, double at);

/// Binds this process to the cores and memory of the rank's slots. A failure is a line in the log.
void takePlace(const protocol::TrialSpec& spec, unsigned rank);

/// Runs `child`; an exception that leaves it becomes a `failed` event and exit code 1.
int runGuarded(const protocol::LaunchRequest& request, int event_fd, const Child& child);

// The cores on which a process runs, and the NUMA nodes of its memory.

/// The core numbers in one entry of TrialSpec::slots; empty if it has none.
std::vector<int> slotCores(const json::Value& slot);
/// The cores that a rank drives: its slot's, or those of all slots if it is the only rank.
std::vector<int> rankCores(const protocol::TrialSpec& spec, unsigned rank);
/// The number of this host's ranks, as launchers say; 1 if they do not, since the others may be elsewhere.
unsigned localRanks();
/// The NUMA nodes of a rank's memory ("memory_nodes" of its slots); empty if the system decides.
std::vector<int> rankMemoryNodes(const protocol::TrialSpec& spec, unsigned rank);

/// Binds this thread, and those that it starts from now on, to `cores`; an empty list changes
/// nothing. @returns "" or the system's error
std::string bindCores(const std::vector<int>& cores);

/// Makes this process, its threads and its children take memory from `nodes` only; an empty list
/// changes nothing.
/// @returns "" or the system's error
std::string bindMemory(const std::vector<int>& nodes);

/// Adds the binding in force, as the system reports it: "cores", and "memory_nodes" if memory is
/// bound.
void describePlace(json::Object& environment);

// The rest deals with leftovers of a rank (left_behind.cpp).

// Each trial has a folder of its own on this machine for temporary files, which is removed with
// everything in it.

/// The folder of process `pid` below TMPDIR (or /tmp), as that variable was at the first call; ""
/// if there can be none. No other user can write there. Its name contains the boot and the PID
/// namespace that the number belongs to.
std::string scratchFolder(pid_t pid);

/// Gives this process an empty folder. @returns false, with a line on standard error, if that is
/// impossible
bool makeScratch();
/// Removes what the trial left in the folder. A folder that is empty already is kept for the next
/// trial, since making one costs more than a short program takes.
/// @returns false if something stays, such as a mount
bool clearScratch();
/// Removes the folder of a process, if there is one.
void removeScratch(pid_t pid);
/// Removes the folders of processes that are gone, such as those of a server that was killed.
void removeLeftScratch();

/// The outcome of killStrangers().
struct Strangers {
  unsigned killed = 0;    // processes that were alive
  std::vector<int> left;  // those that were killed and are still there
};
/// Kills and reaps every child of this process that is not in `known`, repeatedly until there is
/// none: this process is a subreaper, so the children of the killed ones come to it. Takes a few
/// seconds at most.
Strangers killStrangers(const std::set<pid_t>& known);

}  // namespace expc::serve
