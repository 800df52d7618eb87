#pragma once

// One run of a user's program: started without a shell, measured, waited for, and cleaned up after.

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/llvm.h"

namespace expc::command {

/// Attends to a program while it runs. Called from the loop that waits for its end.
class Attendant {
 public:
  virtual ~Attendant() = default;
  /// Looks after the program with this process, which leads its group. Returns the seconds until the next look.
  virtual double look(pid_t program) = 0;
  /// SIGTERM has come to this process: the program is to end.
  virtual void told(pid_t program) = 0;
};

/// A program to run.
struct Program {
  std::string path;                    // contains a slash, or is a name to look for in PATH
  std::vector<std::string> arguments;  // argv, the program's name first
  std::string folder;                  // working directory
  /// Files for standard output and standard error; they are made anew.
  std::string out, err;
  uint64_t most_output = UINT64_MAX;  // bytes of either output; beyond them the program is killed
  Attendant* attendant = nullptr;     // null: nobody attends to it, and SIGTERM ends this process
};

/// The end of a program, with its measurements.
struct ProgramEnd {
  std::string file;  // the file that was run
  int status = 0;    // as from waitpid
  int pid = 0;
  double began_seconds = 0;  // when it was started, by a clock that all processes of the machine share
  double wall_seconds = 0;   // from just before the start to the end
  double cpu_seconds = 0;    // user and system time, including processes that it waited for
  /// The largest resident set among these processes, but never less than `least_peak`.
  uint64_t peak_bytes = 0;
  /// The resolution of `peak_bytes`: our own size at the start, which the kernel counts as the
  /// program's.
  uint64_t least_peak = 0;
  bool flooded = false;      // killed because it wrote too much
  unsigned left_behind = 0;  // processes that outlived it and were killed
  std::vector<int> stuck;    // those among them that do not die
};

/// Runs `program` in a session of its own, without a terminal and with /dev/null as standard input.
/// When this returns every descendant is dead, even one that left the process group. An error means
/// that the program could not be started (not found, no permission, no interpreter), in one line
/// with the way out.
Expected<ProgramEnd> runProgram(const Program& program);

/// The file that `path` means: itself if it contains a slash, else the first executable of that
/// name in PATH; "" if there is none.
std::string locate(const std::string& path);

}  // namespace expc::command
