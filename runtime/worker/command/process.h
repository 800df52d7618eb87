#pragma once

// One run of a user's program: started without a shell, waited for, measured, and nothing of it left behind.

#include <llvm/Support/Error.h>

#include <cstdint>
#include <string>
#include <vector>

namespace expc::command {

struct Program {
  std::string path;                    // with a slash, or a name for PATH
  std::vector<std::string> arguments;  // argv, the program's name first
  std::string folder;                  // working directory
  std::string out, err;                // files for standard output and standard error, made anew
  uint64_t most_output = UINT64_MAX;   // bytes of either before it is killed
};

struct ProgramEnd {
  std::string file;  // that was run
  int status = 0;    // as from waitpid
  int pid = 0;
  double wall_seconds = 0;   // from just before the start to the end
  double cpu_seconds = 0;    // user and system, of it and of every process that it waited for
  uint64_t peak_bytes = 0;   // largest resident set among these, or `least_peak` if that is more
  uint64_t least_peak = 0;   // less cannot be told: what we had when we started it, which the kernel counts as its own
  bool flooded = false;      // killed for its output
  unsigned left_behind = 0;  // processes that outlived it and were killed
  std::vector<int> stuck;    // those of them that do not die
};

/// Runs `program` in a session of its own, without a terminal, with /dev/null as standard input; every descendant is
/// dead when this returns, also one that left the group. The error says why it could not be started (not found, no
/// permission, no interpreter), in one line with the way out.
llvm::Expected<ProgramEnd> runProgram(const Program& program);

/// The file that `path` stands for: itself if it has a slash, else the first executable one in PATH; "" if there is
/// none.
std::string locate(const std::string& path);

}  // namespace expc::command
