#pragma once

// The worker's side of the launch channel (runtime/protocol/trial.h): a server that has loaded what is
// slow to load, and forks a child for each launch. It knows nothing of torch or of any workload.

#include <llvm/Support/JSON.h>

#include <functional>
#include <string>

#include "runtime/base/llvm.h"
#include "runtime/protocol/trial.h"
#include "runtime/worker/serve/child.h"
#include "runtime/worker/serve/event_writer.h"

namespace expc::serve {

/// Whether a process may run several ranks in turn, which saves a fork per trial. Allowed only if
/// `Child` leaves nothing behind that the next call does not set anew. A process whose rank fails
/// always ends.
enum class Reuse { Never, Often };

/// Serves the launch channel on `control_fd` until the other end closes, then kills what is left of
/// its children. Returns the process's exit code. Call it after everything slow is loaded, since it
/// starts by sending Ready, and before any thread is started, since it forks.
int run(int control_fd, const Child& child, Reuse reuse = Reuse::Never);

/// A worker program: its name, its functions, and how it may be served.
struct Worker {
  const char* name = "";  // "expc-worker"
  const char* help = "";
  /// Makes the document that `--describe` prints.
  std::function<json::Value()> describe;
  Child child;
  Reuse reuse = Reuse::Never;
  /// Used if a process runs one rank only.
  Child alone = child;
};

/// Runs the command line that every worker has, and returns the exit code.
/// - `--serve FD` serves the launch channel.
/// - `--trial FILE` ("-" for standard input) runs one rank of a trial in this process, for
///   launchers that start ranks themselves and for debugging. RANK says which rank. Events go to
///   standard output, everything else that is printed to standard error.
/// - `--describe` and `--help`. The exit code is 2 for any other command line, a descriptor that is
///   not open, or a specification that cannot be read.
int runWorker(int argc, char** argv, const Worker& worker);

/// The first 16 hexadecimal digits of BLAKE3 over this program's file, which `--describe` gives as
/// `build`. Every new build has another.
std::string executableDigest();

}  // namespace expc::serve
