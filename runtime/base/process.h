#pragma once

// What the kernel says, in files: of processes, and of its own start.

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace expc::base {

/// The text of a file without the white space at its end; nothing where it cannot be read.
std::optional<std::string> readText(const std::string& path);

/// From /proc/PID/stat.
struct Process {
  char state = '\0';  // 'R', 'D', 'Z', …; '\0': there is none
  pid_t parent = 0;
  uint64_t started = 0;    // ticks since the boot: with its number it is the same process
  double cpu_seconds = 0;  // that it took, and those of its children that are gone and were waited for
  int core = -1;           // that it ran on last

  /// Whether more than its exit status is left of it.
  bool runs() const { return state != '\0' && state != 'Z' && state != 'X'; }
};
/// `proc` is where /proc is.
Process processOf(int64_t pid, const std::string& proc = "/proc");

/// The folder of this program, wherever it was moved to; "" where that is not known.
std::filesystem::path programFolder();

/// The name of this machine; "" where it has none.
std::string hostName();

/// Another one after each start of the machine; "" where it is not known.
std::string bootId();

}  // namespace expc::base
