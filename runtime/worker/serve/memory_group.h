#pragma once

// Finds processes that the kernel killed for lack of memory: a control group of our own counts
// them, or the kernel's log names them. Counts of the whole machine, or a program's own output,
// would be no evidence.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "runtime/base/descriptor.h"

namespace expc::serve {

/// A control group below this process's own, with this process and all that it starts in it. The
/// kernel counts there whom it kills for memory. Limits of groups above still hold.
class MemoryGroup {
 public:
  /// Makes the group and moves this process into it. No effect if that is not permitted (see
  /// made()); version 2 of control groups needs a group that was delegated to us. Call it before
  /// any thread or child is started.
  /// @param root the folder in which /proc and /sys are; for tests
  explicit MemoryGroup(const std::string& root = "");
  /// Moves this process back and removes the group.
  ~MemoryGroup();

  /// Whether there is a group.
  bool made() const { return !folder_.empty(); }
  /// The number of processes of the group that the kernel has killed for memory.
  uint64_t kills() const;
  /// The file with that number.
  std::string file() const { return folder_ + "/" + events_; }

 private:
  friend class RankMemory;

  /// Empty without a group.
  std::string parent_, folder_;
  const char* events_ = "";
  Descriptor events_fd_;  // kept open, because it is read after each trial
};

/// A group for one rank and all that it starts, beside the server's, so that the kernel counts and
/// limits each rank by itself. The last copy removes the group if it is empty.
class RankMemory {
 public:
  RankMemory() = default;
  /// Makes the group. @param limit bytes; 0 for none. No effect if the server has no group either
  /// (see made()).
  RankMemory(const MemoryGroup& server, uint64_t limit);

  bool made() const { return group_ != nullptr; }
  /// Moves this process into the group.
  void enter() const;
  /// The number of kills for memory in the group since the last call.
  uint64_t newKills();
  /// Whether the kernel has killed a process of the group; without a group of its own, one of the
  /// server's since this was made.
  bool sawKill() const;
  /// Names the file with the count, and the limit, for messages.
  std::string evidence() const;

 private:
  struct Group {
    std::string folder, file;
    Descriptor events_fd;  // kept open, because it is read after each trial
    ~Group();
  };
  std::shared_ptr<const Group> group_;
  const MemoryGroup* server_ = nullptr;  // outlives it
  uint64_t limit_ = 0, told_ = 0, kills_before_ = 0;
};

/// Reads what the kernel logs from now on. Without effect if the log may not be read, or names
/// processes by other numbers than ours.
class KernelLog {
 public:
  KernelLog();

  /// Skips what was logged so far.
  void skip();
  /// The line that says that process `pid` was killed for memory; "" if there is none among the new
  /// ones.
  std::string killed(int pid);

 private:
  Descriptor fd_;
};

/// The text of a record of /dev/kmsg if it says that process `pid` was killed for memory; else
/// nothing.
std::optional<std::string> killedLine(const std::string& record, int pid);

}  // namespace expc::serve
