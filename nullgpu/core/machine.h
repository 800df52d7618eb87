#pragma once

// The cards as all processes of the machine see them: those that NULLGPU_MACHINE names share one file, so that NVML in
// one process tells what another does.

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "nullgpu/core/cards.h"
#include "nullgpu/core/configuration.h"

namespace nullgpu {

/// The cards of a machine. All its processes agree on this description.
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

/// The memory that all processes of a file share: the cards' state and who holds memory of them. Cards are numbers of
/// the machine.
class Machine {
 public:
  /// Maps `file`, made if missing; "" is memory that only forks of this process share. A file that is none of ours, or
  /// describes other cards, ends the process: refuse().
  Machine(const std::string& file, const Description& description);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  CardState state(unsigned card);
  /// This process takes `bytes` of a card; false when it has not so many left. Gives them back with release().
  bool reserve(unsigned card, uint64_t bytes);
  void release(unsigned card, uint64_t bytes);
  /// The card worked for so long.
  void worked(unsigned card, uint64_t nanoseconds);
  /// The card is lost for all processes of the machine.
  void lose(unsigned card) { at(card).lost = 1; }

  /// Excludes all other threads and processes. The system gives it back when its holder is killed.
  void lock();
  void unlock();
  SharedMachine& shared() const { return *shared_; }

 private:
  SharedCard& at(unsigned card) { return shared_->cards.at(card); }
  void check(const Description& description) const;
  SharedProcess* own();
  SharedProcess& enter();
  void reclaim();
  uint64_t used(unsigned card) const;

  std::string name_;  // how a message calls it
  int descriptor_ = -1;
  SharedMachine* shared_ = nullptr;
};

/// The machine of this process.
Machine& machine();

}  // namespace nullgpu
