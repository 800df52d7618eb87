#include "runtime/base/process.h"

#include <fcntl.h>
#include <llvm/ADT/StringExtras.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>
#include <system_error>
#include <utility>

#include "runtime/base/format.h"
#include "runtime/base/llvm.h"

namespace expc::base {

/// Reads an open file, without white space at its end. Files of the kernel have no known size.
static std::string textIn(int file) {
  std::string text;
  char piece[8192];
  ssize_t size = 0;
  while ((size = pread(file, piece, sizeof piece, off_t(text.size()))) > 0) text.append(piece, size);
  return StringRef(text).rtrim().str();
}

std::optional<std::string> readText(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return file >= 0 ? std::optional(textIn(file)) : std::nullopt;
}

std::optional<std::string> KernelFile::text() {
  if (file_ < 0 || owner_ != getpid()) {
    owner_ = getpid();
    file_ = Descriptor(open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  }
  return file_ >= 0 ? std::optional(textIn(file_)) : std::nullopt;
}

Process processOf(int64_t pid, const std::string& proc) {
  const std::string text = readText(fmt::format("{}/{}/stat", proc, pid)).value_or("");
  Process process;
  const size_t end = text.rfind(')');  // "12 (name) S 1 …", where the name may hold anything, also ')'
  if (end == std::string::npos) return process;
  std::istringstream rest(text.substr(end + 1));
  const auto skip = [&](int fields) {
    for (std::string field; fields > 0; --fields) rest >> field;
  };
  uint64_t user = 0, system = 0, waited_user = 0, waited_system = 0;
  rest >> process.state >> process.parent;
  // Fields are counted as in proc_pid_stat(5): utime is the 14th, starttime the 22nd, processor the 39th.
  skip(9);
  rest >> user >> system >> waited_user >> waited_system;
  skip(4);
  rest >> process.started;
  skip(16);
  rest >> process.core;
  const auto ticks = double(user + system + waited_user + waited_system);
  process.cpu_seconds = ticks / double(sysconf(_SC_CLK_TCK));
  return process;
}

std::map<int, int> parentsOfAll(const std::string& proc) {
  std::map<int, int> parents;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(proc, error)) {
    int pid = 0;
    if (!llvm::to_integer(entry.path().filename().string(), pid, 10)) continue;
    if (const Process process = processOf(pid, proc); process.state != '\0') parents[pid] = process.parent;
  }
  return parents;
}

/// Adds a process and its descendants. False if the kernel does not tell a process's children.
static bool addFamily(int pid, const std::string& proc, Family& family) {
  // A process that was met before ends the recursion, so a changing tree cannot make it run forever.
  if (!family.pids.insert(pid).second) return true;
  const Process process = processOf(pid, proc);
  if (process.state == '\0') return true;  // it has ended meanwhile
  *family.cpu_seconds += process.cpu_seconds;
  std::error_code error;
  for (const auto& task : std::filesystem::directory_iterator(fmt::format("{}/{}/task", proc, pid), error)) {
    // Each thread lists the children that it has started.
    const auto children = readText(task.path().string() + "/children");
    if (!children && std::filesystem::exists(task.path(), error)) return false;
    std::istringstream pids(children.value_or(""));
    for (int child = 0; pids >> child;)
      if (!addFamily(child, proc, family)) return false;
  }
  return true;
}

Family familyOf(int pid, const std::string& proc) {
  Family family{.pids = {}, .cpu_seconds = 0};
  if (addFamily(pid, proc, family)) return family;
  family.cpu_seconds.reset();
  const std::map<int, int> parents = parentsOfAll(proc);
  for (bool grew = true; std::exchange(grew, false);)
    for (const auto& [child, parent] : parents)
      if (family.pids.contains(parent)) grew |= family.pids.insert(child).second;
  return family;
}

std::filesystem::path programFolder() {
  std::error_code failed;
  return std::filesystem::read_symlink("/proc/self/exe", failed).parent_path();
}

std::filesystem::path sharedPath(const char* name) {
  std::filesystem::path folder = programFolder();
  for (int above = 0; above < 5; ++above) {
    folder = folder.parent_path();
    if (std::error_code failed; std::filesystem::exists(folder / "share" / name, failed))
      return folder / "share" / name;
  }
  return "";
}

void addPythonPackage(std::vector<std::string>& variables) {
  static const std::string folder = sharedPath("expc/python").string();  // found once: it is added for each trial
  if (folder.empty()) return;
  const auto given = std::ranges::find_if(variables, [](const auto& one) { return one.starts_with("PYTHONPATH="); });
  if (given == variables.end())
    variables.push_back("PYTHONPATH=" + folder);
  else
    *given += (given->ends_with('=') ? "" : ":") + folder;
}

std::string hostName() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

std::string bootId() { return readText("/proc/sys/kernel/random/boot_id").value_or(""); }

const std::string& pidMark() {
  static const std::string mark = [] {
    struct stat space{};
    ::stat("/proc/self/ns/pid", &space);
    return fmt::format("{}-{}-", bootId().substr(0, 8), space.st_ino);
  }();
  return mark;
}

void forgetPeak(pid_t pid) {
  const Descriptor file(::open(fmt::format("/proc/{}/clear_refs", pid).c_str(), O_WRONLY | O_CLOEXEC));
  [[maybe_unused]] const ssize_t ignored = file < 0 ? 0 : ::write(file, "5", 1);  // as proc(5) says
}

}  // namespace expc::base
