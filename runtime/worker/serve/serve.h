#pragma once

// The worker's side of the launch channel (runtime/protocol/trial.h): a server that has loaded what is slow to load and
// forks one child for each launch request. Knows nothing of torch or of any workload.

#include <llvm/Support/JSON.h>

#include <functional>
#include <string>

#include "runtime/protocol/trial.h"
#include "runtime/worker/serve/child.h"
#include "runtime/worker/serve/event_writer.h"

namespace expc::serve {

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

/// Runs the command line that every worker has. `--serve FD`. `--trial FILE` ("-": standard input) runs one rank of the
/// trial in this process, for launchers that start ranks by themselves and for debugging: RANK says which it is, events
/// go to standard output, whatever else is printed to standard error. `--describe`. `--help`. Returns the exit code: 2
/// for anything else, a descriptor that is not open, and a specification that cannot be read.
int runWorker(int argc, char** argv, const Worker& worker);

/// First 16 hex digits of BLAKE3 over this program's file: the `build` that `--describe` gives. Any new build is
/// another one.
std::string executableDigest();

}  // namespace expc::serve
