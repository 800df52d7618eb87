#pragma once

// Reads what the kernel tells in files: about processes, and its own start.

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/descriptor.h"

namespace expc::base {

/// The text of a file without white space at its end; nothing if it cannot be read.
std::optional<std::string> readText(const std::string& path);

/// A file of the kernel that is read again and again. It stays open, since opening it takes longer than reading it. A
/// process that was forked opens it for itself, because what is below /proc/self is about the process that opened it.
class KernelFile {
 public:
  explicit KernelFile(std::string path) : path_(std::move(path)) {}
  /// Reads the file like readText.
  std::optional<std::string> text();

 private:
  std::string path_;
  Descriptor file_;
  pid_t owner_ = 0;
};

/// A process, from /proc/PID/stat.
struct Process {
  char state = '\0';  // 'R', 'D', 'Z', …; '\0': no such process
  pid_t parent = 0;
  uint64_t started = 0;    // ticks since boot: a pid together with this identifies a process
  double cpu_seconds = 0;  // its own, and those of its children that ended and were waited for
  int core = -1;           // the core that it ran on last

  /// Whether it still runs: not a zombie, of which only the exit status is left.
  bool runs() const { return state != '\0' && state != 'Z' && state != 'X'; }
};
/// The process with this pid; `proc` is the path of /proc, for tests.
Process processOf(int64_t pid, const std::string& proc = "/proc");

/// The parent of each process at this moment. Reads all of /proc.
std::map<int, int> parentsOfAll(const std::string& proc = "/proc");

/// A process and all its descendants.
struct Family {
  std::set<int> pids;
  /// Processor time in seconds that they took, including children that have ended and were waited for. Absent if the
  /// kernel does not tell a process's children (CONFIG_PROC_CHILDREN).
  std::optional<double> cpu_seconds;
};
/// The family of a process at this moment. Where the kernel does not tell a process's children, parents tell them.
Family familyOf(int pid, const std::string& proc = "/proc");

/// The folder of this program's file, wherever it was moved to; "" if unknown.
std::filesystem::path programFolder();

/// A file or folder that is installed below `share`; "" if it is not there. It is looked for in five folders above the
/// program, since pip puts it that far above.
std::filesystem::path sharedPath(const char* name);

/// Appends the folder of the Python package `expc` to PYTHONPATH among NAME=VALUE variables, behind the user's folders.
void addPythonPackage(std::vector<std::string>& variables);

/// The name of this machine; "" if it has none.
std::string hostName();

/// The kernel's identifier of this boot; "" if unknown.
std::string bootId();
/// This boot and this PID namespace, such as "1b4e28ba-4026531836-". Only within them does a pid name one process.
const std::string& pidMark();

/// Makes the present size of a process its peak, if the kernel lets us.
void forgetPeak(pid_t pid);

}  // namespace expc::base
