#pragma once

// Whether a process that was killed is really gone.

#include <sys/types.h>

#include <string>

namespace expc::engine {

/// The state letter of /proc/PID/stat, e.g. 'R', 'D'; '\0' where there is no such process, or only its exit status is
/// left. `proc` is where /proc is.
char processState(pid_t pid, const std::string& proc = "/proc");

/// Waits a few seconds for the end of a process that was killed; false where it is still there.
bool waitUntilGone(pid_t pid, const std::string& proc = "/proc");

/// "process 12, in state D (…)" of one that was killed and does not die: one in state D, which waits for a device or a
/// file system that does not answer, dies only when that answers.
std::string stuckText(pid_t pid, const std::string& proc = "/proc");

}  // namespace expc::engine
