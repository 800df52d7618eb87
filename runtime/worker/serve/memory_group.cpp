// Control groups that count and limit the memory of ranks, in both versions of the kernel's
// interface, and the kernel's log as a fallback. Every failure leaves the process where it was and
// without a group: a machine on which groups cannot be made measures as before, with less evidence.

#include "runtime/worker/serve/memory_group.h"

#include <dirent.h>
#include <fcntl.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <memory>
#include <set>
#include <utility>

#include "runtime/base/control_group.h"
#include "runtime/base/llvm.h"
#include "runtime/base/process.h"

namespace expc::serve {
namespace {

/// Begins the names of our groups, followed by the server's pid, a dot and a number for a rank.
constexpr char kPrefix[] = "expc-";
/// The file with the count of kills, in version 1 and 2 of control groups.
constexpr char kFirstEvents[] = "memory.oom_control", kSecondEvents[] = "memory.events";

/// The content of a file; "" if it cannot be read.
std::string textOf(const std::string& path) { return base::readText(path).value_or(""); }

/// Writes to a file of the kernel; false on an error.
bool write(const std::string& path, const std::string& text) {
  const Descriptor fd(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return fd >= 0 && ::write(fd, text.data(), text.size()) == ssize_t(text.size());
}

/// Moves a process into a group; false on an error.
bool enter(const std::string& folder, pid_t pid = getpid()) {
  return write(folder + "/cgroup.procs", std::to_string(pid));
}

/// Whether one of the words of `text` is `word`.
bool hasWord(StringRef text, StringRef word) { return is_contained(llvm::split(text.trim(), ' '), word); }

/// Whether the group passes control of memory on to groups below it (version 2).
bool handsOutMemory(const std::string& folder) { return hasWord(textOf(folder + "/cgroup.subtree_control"), "memory"); }

/// Makes a group of version 2 pass control of memory on. The kernel allows that only for a group
/// without processes of its own, so if only we and our parent are in it, both move one level down.
bool letHandOut(const std::string& folder, const std::string& own) {
  if (!hasWord(textOf(folder + "/cgroup.controllers"), "memory")) return false;
  // Other processes in the group are not ours to move.
  std::ifstream list(folder + "/cgroup.procs");
  for (pid_t pid; list >> pid;)
    if (pid != getpid() && pid != getppid()) return false;
  const std::string rest = folder + "/" + kPrefix + "rest";
  if (mkdir(rest.c_str(), 0755) != 0 && errno != EEXIST) return false;
  return enter(rest, getppid()) && enter(own) && write(folder + "/cgroup.subtree_control", "+memory");
}

/// The number of kills for memory in an open file of events; both versions have the line "oom_kill
/// N".
uint64_t killsIn(int events_fd) {
  char text[4096];
  const ssize_t size = events_fd >= 0 ? pread(events_fd, text, sizeof text, 0) : 0;
  for (const StringRef line : llvm::split(StringRef(text, std::max<ssize_t>(size, 0)), '\n')) {
    const auto [name, number] = line.split(' ');
    uint64_t count = 0;
    if (name == "oom_kill" && !number.getAsInteger(10, count)) return count;
  }
  return 0;
}

/// Removes a group. A process that was just waited for may remain in it for a moment, so this
/// retries for 100 ms. A group that stays busy is left to removeLeft() of the next server.
void removeGroup(const std::string& folder) {
  constexpr int kTimes = 100;
  constexpr timespec kPause{0, 1'000'000};
  for (int i = 0; i < kTimes && rmdir(folder.c_str()) != 0 && errno == EBUSY; ++i) nanosleep(&kPause, nullptr);
}

/// Removes groups of servers that were killed before they could do it.
void removeLeft(const std::string& parent) {
  std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(parent.c_str()), closedir);
  while (const dirent* entry = folder ? readdir(folder.get()) : nullptr) {
    StringRef name = entry->d_name;
    int pid = 0;
    if (!name.consume_front(kPrefix) || !llvm::to_integer(name.split('.').first, pid, 10) || pid <= 0) continue;
    if (kill(pid, 0) != 0 && errno == ESRCH) rmdir((parent + "/" + entry->d_name).c_str());
  }
}

}  // namespace

MemoryGroup::MemoryGroup(const std::string& root) {
  const base::ControlGroup own = base::controlGroup("memory", root);
  if (!own.own || access(own.folder.c_str(), W_OK) != 0) return;
  // Without hierarchy (version 1), the kernel would not count a group below its parent, and the
  // group would escape the parent's limit.
  if (!own.second_version && textOf(own.folder + "/memory.use_hierarchy") != "1") return;
  events_ = own.second_version ? kSecondEvents : kFirstEvents;
  removeLeft(own.folder);
  const std::string folder = own.folder + "/" + kPrefix + std::to_string(getpid());
  if (mkdir(folder.c_str(), 0755) != 0) return;
  // Version 1, or a group that passes memory on already: just enter. Otherwise prepare the group
  // first.
  const bool inside =
      own.second_version && !handsOutMemory(own.folder) ? letHandOut(own.folder, folder) : enter(folder);
  if (inside) events_fd_ = Descriptor(open((folder + "/" + events_).c_str(), O_RDONLY | O_CLOEXEC));
  // Everything worked, or this process goes back to where it was.
  if (events_fd_ >= 0) {
    parent_ = own.folder;
    folder_ = folder;
  } else {
    enter(own.folder);
    rmdir(folder.c_str());
  }
}

MemoryGroup::~MemoryGroup() {
  if (!made()) return;
  events_fd_.close();
  // In version 2 our own group may have become one that must not hold processes; "rest" is the one
  // below it.
  if (!enter(parent_)) enter(parent_ + "/" + kPrefix + "rest");
  removeGroup(folder_);
}

uint64_t MemoryGroup::kills() const { return killsIn(events_fd_); }

RankMemory::RankMemory(const MemoryGroup& server, uint64_t limit)
    : server_(&server), limit_(limit), kills_before_(server.kills()) {
  static unsigned number = 0;
  if (!server.made()) return;
  auto group = std::make_shared<Group>();
  const std::string folder = server.folder_ + "." + std::to_string(++number);
  if (mkdir(folder.c_str(), 0755) != 0) return;
  group->folder = folder;
  group->file = folder + "/" + server.events_;
  group->events_fd = Descriptor(open(group->file.c_str(), O_RDONLY | O_CLOEXEC));
  const bool second_version = StringRef(server.events_) == kSecondEvents;
  // A group without its limit would not do what the trial asks for, so it counts as not made.
  const std::string most = folder + (second_version ? "/memory.max" : "/memory.limit_in_bytes");
  if (group->events_fd >= 0 && (limit == 0 || write(most, std::to_string(limit)))) group_ = std::move(group);
}

RankMemory::Group::~Group() {
  events_fd.close();
  if (!folder.empty()) removeGroup(folder);
}

void RankMemory::enter() const {
  if (made()) serve::enter(group_->folder);
}

uint64_t RankMemory::newKills() {
  if (!made()) return 0;
  const uint64_t all = killsIn(group_->events_fd);
  return all - std::exchange(told_, all);
}

bool RankMemory::sawKill() const {
  if (made()) return killsIn(group_->events_fd) > 0;
  return server_ && server_->kills() > kills_before_;
}

std::string RankMemory::evidence() const {
  const std::string limit = limit_ > 0 ? " (its limit is " + std::to_string(limit_ >> 20) + " MiB)" : "";
  return group_->file + " says" + limit;
}

KernelLog::KernelLog() {
  // Only the first PID namespace has the numbers that the kernel writes to its log.
  constexpr char kFirstNamespace[] = "pid:[4026531836]";
  char name[64];
  const ssize_t size = readlink("/proc/self/ns/pid", name, sizeof name);
  if (size < 0 || StringRef(name, size) != kFirstNamespace) return;
  fd_ = Descriptor(open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  skip();
}

void KernelLog::skip() {
  if (fd_ >= 0) lseek(fd_, 0, SEEK_END);
}

std::string KernelLog::killed(int pid) {
  std::string found;
  char record[8192];
  while (fd_ >= 0) {
    const ssize_t size = read(fd_, record, sizeof record);
    if (size < 0 && (errno == EINTR || errno == EPIPE)) continue;  // records were overwritten before we read them
    if (size <= 0) break;
    if (auto line = killedLine({record, size_t(size)}, pid)) found = std::move(*line);
  }
  return found;
}

std::optional<std::string> killedLine(const std::string& record, int pid) {
  // A record reads "6,1234,5678,-;Memory cgroup out of memory: Killed process 42 (python3)
  // total-vm:…", then lines with key=value.
  StringRef text = StringRef(record).split('\n').first.split(';').second;
  const std::string mark = "Killed process " + std::to_string(pid) + " (";
  if (!text.contains_insensitive("out of memory: ") || !text.contains(mark)) return std::nullopt;
  return text.str();
}

}  // namespace expc::serve
