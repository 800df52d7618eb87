#pragma once

// The ranks of a communicator, and the memory that they share: a file with the name that the unique id holds, which is
// gone as soon as all have come.

#include <nccl.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "nullgpu/nccl/call.h"

namespace nullgpu::nccl {

/// Counts in shared memory, one writer each.
struct alignas(64) Counter {
  std::atomic<uint64_t> value{0};

  uint64_t now() const { return value.load(std::memory_order_acquire); }
  void set(uint64_t to) { value.store(to, std::memory_order_release); }
};

/// Two conversations that do not wait for each other: of what is called, and of what graphs replay, since a call that
/// is made after a graph's launch may be done before it.
enum Lane : uint8_t { kCalled, kReplayed, kLanes };

/// What one rank shows the others of its collectives. Numbers begin at 1.
struct Board {
  Description described[2];        // of collective N in place N % 2
  Counter posted, compared;        // the last collective that it has described; has compared with the others'
  Counter written, reduced, read;  // the last chunk, over all collectives, that it has done this with
};

/// From one rank to another.
struct Channel {
  static constexpr size_t kSlotBytes = size_t{16} << 10;
  Description described;
  Counter posted, compared;  // the last message that the sender has described; that the receiver has looked at
  Counter written, read;     // the last chunk, over all messages
  alignas(64) std::byte slots[2][kSlotBytes];
};

class Clique {
 public:
  static constexpr size_t kSlotBytes = size_t{256} << 10;
  static constexpr unsigned kSlots = 2;

  /// Comes as `rank` of `ranks` to the place that `id` names. Does not wait. Throws Failure: the place cannot be had,
  /// the rank is there already, the others expect another number of ranks.
  Clique(const ncclUniqueId& id, unsigned ranks, unsigned rank, unsigned card);
  ~Clique();
  Clique(const Clique&) = delete;
  Clique& operator=(const Clique&) = delete;

  unsigned ranks() const { return ranks_; }
  unsigned rank() const { return rank_; }

  /// Whether all have come. Throws Failure when they disagree, or two have the same card.
  bool met();

  Board& board(Lane lane, unsigned rank) const;
  Board& mine(Lane lane) const { return board(lane, rank_); }
  /// Where `rank` puts its `chunk`: kSlotBytes.
  std::byte* slot(Lane lane, unsigned rank, uint64_t chunk) const;
  Channel& channel(Lane lane, unsigned from, unsigned to) const;
  /// Whether the counter of every rank is at least `number`.
  bool all(Lane lane, Counter Board::* counter, uint64_t number) const;

  /// Whether this process holds more than one of the ranks. Once all have met.
  bool shared() const { return shared_; }

  /// Tells all ranks that the communicator cannot go on. The first text stays.
  void complain(const std::string& text);
  /// "": nobody has.
  std::string complaint() const;

 private:
  struct Header;
  struct Seat;
  Header& header() const;
  Seat& seat(unsigned rank) const;
  void claim(unsigned card);
  void lookAtOthers();
  void leave();

  std::string path_;
  unsigned ranks_, rank_;
  int file_ = -1;
  std::byte* memory_ = nullptr;
  size_t bytes_ = 0;
  bool met_ = false, shared_ = false;
};

/// An id that no other is like. Removes what processes that were killed while they waited for others have left.
ncclUniqueId newId();

}  // namespace nullgpu::nccl
