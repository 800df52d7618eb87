#pragma once

// The ranks of a communicator, and the memory that they share: a file whose name is in the unique
// id. It is removed as soon as all ranks have come, so nothing is left behind even if they are
// killed later.
//
// All synchronisation is by counters in this memory, each with one writer. A rank polls the others'
// counters and never blocks, because the device's thread serves several streams and perhaps ranks.

#include <nccl.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "nullgpu/nccl/call.h"

namespace nullgpu::nccl {

/// A counter in shared memory with one writer, on a cache line of its own. set() publishes
/// everything written before.
struct alignas(64) Counter {
  std::atomic<uint64_t> value{0};

  uint64_t now() const { return value.load(std::memory_order_acquire); }
  void set(uint64_t to) { value.store(to, std::memory_order_release); }
};

/// Two independent conversations: operations that are called, and operations that graphs replay.
/// They must not wait for each other, since a call made after a graph's launch may be done before
/// it.
enum Lane : uint8_t { kCalled, kReplayed, kLanes };

/// The progress of one rank in a lane, visible to the others. Numbers begin at 1.
struct Board {
  /// Collective N is described in place N % 2; the next but one may overwrite it once all have
  /// compared.
  Description described[2];
  /// The last collective that it has described, and the last whose descriptions it has compared.
  Counter posted, compared;
  /// The last chunk, over all collectives, that it has written, reduced and read.
  Counter written, reduced, read;
};

/// The way for messages from one rank to another.
struct Channel {
  static constexpr size_t kSlotBytes = size_t{16} << 10;
  Description described;
  /// The last message that the sender has described, and the last that the receiver has compared.
  Counter posted, compared;
  Counter written, read;  // the last chunk over all messages
  alignas(64) std::byte slots[2][kSlotBytes];
};

/// A rank's view of the communicator's shared memory.
class Clique {
 public:
  /// Bytes of a slot. A chunk of a collective is what fits into one slot of each rank.
  static constexpr size_t kSlotBytes = size_t{256} << 10;
  /// Slots per rank, so that a rank can write a chunk while others read the one before.
  static constexpr unsigned kSlots = 2;

  /// Comes as `rank` of `ranks` to the place that `id` names; does not wait for others. `card` is
  /// the machine's number. Throws Failure if the place cannot be had. Disagreement is reported by
  /// met().
  Clique(const ncclUniqueId& id, unsigned ranks, unsigned rank, unsigned card);
  ~Clique();
  Clique& operator=(Clique&&) = delete;

  unsigned ranks() const { return ranks_; }
  unsigned rank() const { return rank_; }

  /// Whether all have come. Throws Failure if the ranks disagree on their number, a rank came
  /// twice, or two ranks use the same card.
  bool met();

  /// The board of a rank; each rank writes only its own.
  Board& board(Lane lane, unsigned rank) const;
  Board& mine(Lane lane) const { return board(lane, rank_); }
  /// The slot of kSlotBytes in which `rank` puts its chunk number `chunk`.
  std::byte* slot(Lane lane, unsigned rank, uint64_t chunk) const;
  /// The channel for messages between two ranks.
  Channel& channel(Lane lane, unsigned from, unsigned to) const;
  /// Whether that counter of every rank is at least `number`.
  bool all(Lane lane, Counter Board::* counter, uint64_t number) const;

  /// Whether this process holds several of the ranks, which must then not spin for each other.
  /// Valid after met().
  bool shared() const { return shared_; }

  /// Tells all ranks that the communicator cannot go on. Only the first text is kept.
  void complain(const std::string& text);
  /// The text of a complaint; empty if there is none.
  std::string complaint() const;

 private:
  struct Header;
  struct Seat;
  Header& header() const;
  Seat& seat(unsigned rank) const;
  /// Enters this rank in the file, or the reason why it cannot.
  void claim(unsigned card);
  /// Looks for ranks in this process and for cards used twice.
  void lookAtOthers();
  /// Closes the file, and removes it unless all have met.
  void leave();

  std::string path_;
  unsigned ranks_, rank_;
  int file_ = -1;
  std::byte* memory_ = nullptr;
  size_t bytes_ = 0;
  bool met_ = false, shared_ = false;
};

/// A new id. Also removes files of processes that were killed while they waited for others.
ncclUniqueId newId();

}  // namespace nullgpu::nccl
