#pragma once

// Finds processes that the kernel killed for memory: a control group of our own counts them, or the kernel's log names
// them. Counts of the whole machine and a program's own output are no evidence.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "runtime/base/descriptor.h"

namespace expc::serve {

/// A control group below this process's, with this process in it, so that all that it starts is. The kernel counts
/// there whom it kills for memory. Limits above it hold as before.
class MemoryGroup {
 public:
  /// Makes the group and moves this process into it; without effect where that may not be done (see `made`). With
  /// version 2 of control groups that needs a group that was handed to us (delegated). To be called before any thread
  /// or child is started.
  /// `root` is where /proc and /sys are.
  explicit MemoryGroup(const std::string& root = "");
  ~MemoryGroup();

  bool made() const { return !folder_.empty(); }
  /// How many processes of the group the kernel has killed for memory.
  uint64_t kills() const;
  /// The file that says so.
  std::string file() const { return folder_ + "/" + events_; }

 private:
  friend class RankMemory;

  std::string parent_, folder_;  // "" without a group
  const char* events_ = "";
  base::Descriptor events_fd_;  // kept open, since it is read after each trial
};

/// A group of one rank and all that it starts, beside the server's, so that the kernel counts and limits each for
/// itself. The last copy of it removes the group, if nothing is in it any more.
class RankMemory {
 public:
  RankMemory() = default;
  /// `limit` in bytes; 0: none. Without effect where the server has no group either (see `made`).
  RankMemory(const MemoryGroup& server, uint64_t limit);

  bool made() const { return group_ != nullptr; }
  /// Moves this process into it.
  void enter() const;
  /// How many processes of the group the kernel has killed for memory since this was asked last.
  uint64_t newKills();
  /// Whether the kernel has killed one since the group was made; without a group of its own, one of the server's.
  bool sawKill() const;
  /// The file that says so, with the limit.
  std::string evidence() const;

 private:
  struct Group {
    std::string folder, file;
    base::Descriptor events_fd;  // kept open, since it is read after each trial
    ~Group();
  };
  std::shared_ptr<const Group> group_;
  const MemoryGroup* server_ = nullptr;  // outlives it
  uint64_t limit_ = 0, told_ = 0, kills_before_ = 0;
};

/// Reads what the kernel logs from now on, where it may be read and names processes by the numbers that we know them
/// by.
class KernelLog {
 public:
  KernelLog();

  /// Leaves out what it has logged so far.
  void skip();
  /// The line in which it says that it killed process `pid` for memory; "" where it does not.
  std::string killed(int pid);

 private:
  base::Descriptor fd_;
};

/// Whether a record of /dev/kmsg says that process `pid` was killed for memory: then its text.
std::optional<std::string> killedLine(const std::string& record, int pid);

}  // namespace expc::serve
