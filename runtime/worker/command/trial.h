#pragma once

// Runs a trial whose workload is a command of the study.

#include <string>

#include "runtime/protocol/trial.h"

namespace expc::command {

/// The build that `--describe` reports. It is raised by hand when measuring or reading changes: a
/// rebuilt launcher alone must not make stored trials void.
inline constexpr char kBuild[] = "command-1";

/// Runs one trial of a command, as a serve::Child: runs the program in the trial's folder, reads
/// its metrics, and reports the outcome.
int runTrial(const protocol::LaunchRequest& request, int event_fd);

/// Ends this process with an event (a whole line) on `event_fd` and exit code 1 if it lives for
/// that many seconds. It is the only way out of a library call that never returns. One at a time.
class Deadline {
 public:
  Deadline(unsigned seconds, int event_fd);
  ~Deadline();
  /// Sets the event to write from now on. Must be called before the time runs out.
  void say(const std::string& event);
};

}  // namespace expc::command
