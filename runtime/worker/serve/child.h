#pragma once

// Sets up the process of a rank: its place on the machine, its files, its end. Specifications of trials come in,
// replies to launches go out; serve.h decides when processes start and end.

#include <llvm/Support/JSON.h>
#include <sys/types.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "runtime/protocol/packet.h"
#include "runtime/protocol/trial.h"
#include "runtime/worker/serve/memory_group.h"
#include "runtime/worker/serve/standing.h"

namespace expc::serve {

/// Runs one rank in its own process: returns the exit code (0: it ended well). `event_fd` is for an EventWriter. When
/// it is called
///   - stdout and stderr go to the trial's log, stdin is /dev/null,
///   - the request's environment is set (RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT, …); a command's trial
///     has it in the place of the server's,
///   - the process leads its own process group, is bound to the cores and memory of its slots and dies with the server,
///   - signals have their default actions again, but SIGPIPE stays ignored.
/// It may start threads. An exception that leaves it ends the rank as `failed` with its what().
using Child = std::function<int(const protocol::LaunchRequest& request, int event_fd)>;

/// Makes the forked process the rank that `request` describes (Child lists what is set). Where `packet` came with a
/// channel it says there that the rank ended well, and goes on with the next launch from there, until one does not end
/// well or the channel is closed; else it ends after the first. Each rank begins with what the server began with
/// (`standing`), or fails: a command may have changed its parent.
[[noreturn]] void runChild(const protocol::LaunchRequest& request, protocol::Packet packet, pid_t server,
                           const RankMemory& memory, const Standing& standing, const Child& child);

/// The reply to a launch whose process has ended.
protocol::LaunchReply endOf(uint64_t launch, pid_t pid, int status, double at);

/// Binds this process to the cores and memory of a rank's slots; where that may not be done the log says so.
void takePlace(const protocol::TrialSpec& spec, unsigned rank);

/// `child`, with an exception that leaves it told as `failed`.
int runGuarded(const protocol::LaunchRequest& request, int event_fd, const Child& child);

// On which cores a process runs, and on which NUMA nodes its memory is.

/// The core numbers in one entry of TrialSpec::slots; empty when it has none.
std::vector<int> slotCores(const llvm::json::Value& slot);
/// The cores that a rank drives: its slot's, or those of every slot if it is the only rank.
std::vector<int> rankCores(const protocol::TrialSpec& spec, unsigned rank);
/// The NUMA nodes that its memory comes from ("memory_nodes" of its slots); none: the system decides.
std::vector<int> rankMemoryNodes(const protocol::TrialSpec& spec, unsigned rank);

/// From here on this thread, and those that it starts, run on `cores` alone; no cores leave it as it is. "" or what the
/// system said against it.
std::string bindCores(const std::vector<int>& cores);

/// From here on this process, its threads and children take memory from `nodes` alone; no nodes leave it as it is. ""
/// or what the system said against it.
std::string bindMemory(const std::vector<int>& nodes);

/// Adds what is in force now, as the system says it: "cores", and "memory_nodes" where memory is bound.
void describePlace(llvm::json::Object& environment);

// Leftovers of a rank (left_behind.cpp).

// Where a trial's temporary files go: a folder of its own on this machine, gone with all that is in it.

/// The folder of process `pid` below TMPDIR (or /tmp), as it was when this was called first; "" where there can be
/// none. No other user can write there, and its name says which boot and which PID namespace the number is of.
std::string scratchFolder(pid_t pid);

/// Makes sure of an empty folder of this process; false, with a line on standard error, where that does not go.
bool makeScratch();
/// Removes what the trial left; false where something stays, which it has mounted. A folder in which it left nothing
/// stays for the next one, since making one costs more than a short program takes.
bool clearScratch();
/// Removes that of a process, if there is one.
void removeScratch(pid_t pid);
/// Removes those of processes that are gone, which nobody could remove.
void removeLeftScratch();

struct Strangers {
  unsigned killed = 0;    // how many were alive
  std::vector<int> left;  // those that were killed and are there all the same
};
/// Kills and reaps every child of this process that is not in `known`, again and again until there is none (the
/// children of the killed come to a process that is a subreaper), for a few seconds at most.
Strangers killStrangers(const std::set<pid_t>& known);

}  // namespace expc::serve
