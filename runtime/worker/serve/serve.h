#pragma once

// The worker's side of the launch channel (runtime/plan/trial.h): a server that has loaded what is slow to load and
// forks one child for each launch request. Knows nothing of torch or of any workload.

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/trial.h"

namespace expc::serve {

/// Writes events to the engine, a whole line in one piece. Never raises SIGPIPE and never throws: an engine that is
/// gone ends the trial anyway. A trial has one last event: of those that end it (result, failed, infeasible) the first
/// is written and all that comes after it is dropped, so that any thread may say why a trial fails. One writer a
/// process.
class EventWriter {
 public:
  explicit EventWriter(int fd);
  /// False when the engine's end is closed, or the last event was written; later calls then do nothing.
  bool write(const plan::Event& event);
  /// Shorthands.
  bool started();
  bool progress(uint64_t done, uint64_t total, std::string_view phase);
  bool failed(std::string_view reason);
  /// Failed because another rank is gone, whose own reason weighs more.
  bool lostOthers(std::string_view reason);
  bool infeasible(std::string_view reason);
  /// Raw text, for the null worker's faults only.
  bool writeRaw(std::string_view text);

 private:
  bool send(std::string_view text);

  int fd_;
  std::mutex mutex_;  // guards what follows
  bool open_ = true;
  bool ended_ = false;
};

/// Runs one rank in its own process: returns the exit code (0: it ended well). `event_fd` is for an EventWriter. When
/// it is called
///   - stdout and stderr go to the trial's log, stdin is /dev/null,
///   - the request's environment is set (RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT, …), in the place of
///   the
///     server's where the trial is of a command,
///   - the process leads its own process group, is bound to the cores and memory of its slots and dies with the server,
///   - signals have their default actions again, but SIGPIPE stays ignored.
/// It may start threads. An exception that leaves it ends the rank as `failed` with its what().
using Child = std::function<int(const plan::LaunchRequest& request, int event_fd)>;

/// Whether a process may run one rank after the other, if the engine gives it more: a trial then costs no fork. Only
/// where `Child` leaves nothing behind but what the next call sets anew. One whose rank did not end well ends.
enum class Reuse { Never, Often };

/// Serves the launch channel on `control_fd` until the other end closes, then kills what is left of its children and
/// returns the process's exit code. Call it before any thread is started (it forks), after everything slow is loaded:
/// it begins by sending Ready.
int run(int control_fd, const Child& child, Reuse reuse = Reuse::Never);

/// A worker, as its command line has it.
struct Worker {
  const char* name = "";  // "expc-worker"
  const char* help = "";
  std::function<llvm::json::Value()> describe;
  Child child;
  Reuse reuse = Reuse::Never;
  Child alone = child;  // where its process runs one rank only
};

/// What every worker is asked: `--serve FD`; `--trial FILE` ("-": standard input), which runs one rank of the trial in
/// this process, for launchers that start ranks by themselves and for debugging: RANK says which it is, events go to
/// standard output, whatever else is printed to standard error; `--describe`; `--help`. Returns the exit code: 2 for
/// anything else, a descriptor that is not open, and a specification that cannot be read.
int runWorker(int argc, char** argv, const Worker& worker);

/// The core numbers in one entry of TrialSpec::slots; empty when it has none.
std::vector<int> slotCores(const llvm::json::Value& slot);
/// Those of all that a rank drives: its slot's, or of every slot if it is the only rank.
std::vector<int> rankCores(const plan::TrialSpec& spec, unsigned rank);
/// The NUMA nodes that its memory comes from ("memory_nodes" of its slots); none: the system decides.
std::vector<int> rankMemoryNodes(const plan::TrialSpec& spec, unsigned rank);

/// First 16 hex digits of BLAKE3 over this program's file: the `build` that `--describe` gives. Any new build is
/// another one.
std::string executableDigest();

}  // namespace expc::serve
