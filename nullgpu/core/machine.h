#pragma once

// The state of the cards that all processes of a machine share: who holds memory of them, how much
// they worked, and whether they are lost. Processes with the same NULLGPU_MACHINE map the same
// file, so NVML in one process shows what another does. Cards here have the machine's numbers.
//
// Memory is accounted under a lock over processes, and a killed process's share is found and taken
// back. Work is counted with lock-free atomics, because the device's thread reports it all the
// time.

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "nullgpu/core/cards.h"
#include "nullgpu/core/configuration.h"

namespace nullgpu {

/// The description of a machine's cards, on which all its processes must agree.
struct Description {
  uint64_t memory = 0;  // bytes per card
  unsigned cards = 0;
  /// Ten times the compute capability.
  unsigned capability = 0;
  bool operator==(const Description&) const = default;
};

/// The most processes that one machine's file has room for.
inline constexpr unsigned kMostProcesses = 256;

/// Recent work of a card, in slices of 50 ms. A slice packs its number (upper 32 bits) with the
/// nanoseconds worked in it (lower 32 bits), so that one atomic exchange also recycles an old
/// slice.
inline constexpr unsigned kSlices = 8;
inline constexpr uint64_t kSliceNanoseconds = 50'000'000;

/// A card's part of the file. All members are atomic and used without the lock.
struct SharedCard {
  /// Nanoseconds of work since the file was made; overlapping work counts once.
  std::atomic<uint64_t> busy;
  /// The end of the latest work, on sharedClock().
  std::atomic<uint64_t> busy_until;
  std::array<std::atomic<uint64_t>, kSlices> slices;
  /// 1 once the card is lost.
  std::atomic<uint32_t> lost;
};

/// A process's part of the file, written under the lock.
struct SharedProcess {
  int32_t pid;  // 0: the entry is free
  /// startOf(pid), which tells a process from a later one with the same pid.
  uint64_t started;
  /// Bit i is set once it has used card i.
  uint64_t opened;
  /// Bytes that it holds of each card.
  std::array<uint64_t, kMostCards> bytes;
};

/// The content of the file, mapped as it is. Processes are read and written under the lock, cards
/// without it. Its layout is the file's format: a change needs a new version.
struct SharedMachine {
  /// Written last when the file is made; its absence marks an unfinished file.
  std::array<char, 8> mark;
  uint32_t version;
  Description description;
  /// When the file was made, on sharedClock().
  uint64_t born;
  std::array<SharedCard, kMostCards> cards;
  std::array<SharedProcess, kMostProcesses> processes;
};
static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<uint32_t>::is_always_lock_free);

/// Nanoseconds of the steady clock, which all processes of the machine share (time since its
/// start).
uint64_t sharedClock();

/// Access to the shared state, and the accounting of this process in it. Thread-safe.
class Machine {
 public:
  /// Maps `file`, and makes it if missing; an empty name gives memory that only forks of this
  /// process share. Ends the process through refuse() if the file cannot be used, is damaged, or
  /// describes other cards.
  Machine(const std::string& file, const Description& description);
  ~Machine();
  Machine& operator=(Machine&&) = delete;

  /// A snapshot of the card. Entries of processes that are gone are removed first.
  CardState state(unsigned card);
  /// Takes `bytes` of a card for this process, to be returned by release(). Opens the card even for
  /// 0 bytes.
  /// @returns false if the card has less left
  bool reserve(unsigned card, uint64_t bytes);
  /// Returns `bytes`. A fork holds nothing, so it returns nothing of its parent's.
  void release(unsigned card, uint64_t bytes);
  /// Adds work that has just ended and took so long. Its overlap with other work is not counted
  /// again.
  void worked(unsigned card, uint64_t nanoseconds);
  /// Marks the card as lost for all processes of the machine.
  void lose(unsigned card) { at(card).lost = 1; }

  /// Locks out all other threads and processes. The system releases it when the holder is killed.
  /// Named as std::lock_guard expects.
  void lock();
  void unlock();
  /// The mapped file, for tests.
  SharedMachine& shared() const { return *shared_; }

 private:
  SharedCard& at(unsigned card) { return shared_->cards.at(card); }
  void check(const Description& description) const;
  /// The entry of this process; null if it has none.
  SharedProcess* own();
  /// The entry of this process, made if needed. Ends the process if the table is full.
  SharedProcess& enter();
  /// Frees the entries of processes that are gone.
  void reclaim();
  /// Bytes that all entries hold of the card.
  uint64_t used(unsigned card) const;

  std::string name_;  // the name in messages
  int descriptor_ = -1;
  SharedMachine* shared_ = nullptr;
};

/// The machine of this process, opened at the first use.
Machine& machine();

}  // namespace nullgpu
