#pragma once

#include <string>

#include "runtime/protocol/trial.h"

namespace expc::command {

/// The build that `--describe` gives. It is raised by hand, when what is measured of a program or read from it would
/// change: a new build of the launcher alone voids no trial.
inline constexpr char kBuild[] = "command-1";

/// One trial of a command, as a serve::Child: runs the program in the trial's folder, reads its metrics, tells how it
/// went.
int runTrial(const protocol::LaunchRequest& request, int event_fd);

/// Ends this process with `event` (a whole line) on `event_fd` and exit code 1, if it lives for that many seconds: the
/// one way out of a library's call that takes for ever. One at a time.
class Deadline {
 public:
  Deadline(unsigned seconds, int event_fd);
  ~Deadline();
  /// What to say from now on.
  void say(const std::string& event);
};

}  // namespace expc::command
