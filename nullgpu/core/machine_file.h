#pragma once

// The memory that all processes of one machine share: the cards' state and the processes that hold memory of them.

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "nullgpu/core/cards.h"

namespace nullgpu {

/// What the cards of a machine are. All its processes agree on it.
struct Description {
  uint64_t memory = 0;  // bytes of a card
  unsigned cards = 0;
  unsigned capability = 0;
  bool operator==(const Description&) const = default;
};

inline constexpr unsigned kMostProcesses = 256;

/// How much a card worked lately, in slices of time; each holds its slice's number above the nanoseconds of work.
inline constexpr unsigned kSlices = 8;
inline constexpr uint64_t kSliceNanoseconds = 50'000'000;

struct SharedCard {
  std::atomic<uint64_t> busy;        // nanoseconds of work, what overlaps counted once
  std::atomic<uint64_t> busy_until;  // of the clock
  std::array<std::atomic<uint64_t>, kSlices> slices;
  std::atomic<uint32_t> lost;
};

struct SharedProcess {
  int32_t pid;       // 0: nobody
  uint64_t started;  // startOf(pid)
  uint64_t opened;   // a bit for each card
  std::array<uint64_t, kMostCards> bytes;
};

/// Lies in the file as it stands. Processes are read and written under the lock, cards without it.
struct SharedMachine {
  std::array<char, 8> mark;  // written last
  uint32_t version;
  Description description;
  uint64_t born;  // of the clock
  std::array<SharedCard, kMostCards> cards;
  std::array<SharedProcess, kMostProcesses> processes;
};
static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<uint32_t>::is_always_lock_free);

/// Nanoseconds of a clock that all processes of the machine share.
uint64_t sharedClock();

class MachineFile {
 public:
  /// Maps `path`, made if missing; "" is memory that only forks of this process share. A file that is none of ours, or
  /// describes other cards, ends the process: refuse().
  MachineFile(const std::string& path, const Description& description);
  ~MachineFile();
  MachineFile(const MachineFile&) = delete;
  MachineFile& operator=(const MachineFile&) = delete;

  /// Excludes all other threads and processes. The system gives it back when its holder is killed.
  class Lock {
   public:
    explicit Lock(const MachineFile& file);
    ~Lock();
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

   private:
    int descriptor_;
  };

  SharedMachine& shared() const { return *shared_; }
  /// How a message calls it.
  const std::string& name() const { return name_; }

 private:
  void create(const Description& description);
  void check(const Description& description) const;

  std::string name_;
  int descriptor_ = -1;
  SharedMachine* shared_ = nullptr;
};

}  // namespace nullgpu
