// Collectives and messages through shared memory, in chunks. Counters with one writer each order
// everything: a rank publishes what it has written, reduced and read, and goes on when the others'
// counters allow.

#include "nullgpu/nccl/transfer.h"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "nullgpu/core/activity.h"
#include "nullgpu/core/configuration.h"
#include "nullgpu/core/memory.h"
#include "nullgpu/nccl/reduction.h"

namespace nullgpu::nccl {
namespace {

/// Whether each rank's input has a part for every rank.
bool hasParts(Kind kind) { return kind == Kind::ReduceScatter || kind == Kind::AllToAll; }

/// The bytes at an address of a card or of the host.
const std::byte* bytesAt(const void* address) { return static_cast<const std::byte*>(reachable(address)); }

/// A collective in three stages: all ranks describe their call, compare the descriptions, then move
/// the data chunk by chunk. For each chunk a rank writes its values into its slot, reduces its
/// share over all slots, and reads what it needs from them. A slot is reused when all ranks have
/// read it.
class Collective : public Transfer {
 public:
  Collective(Clique& clique, Lane lane, const Call& call)
      : clique_(clique),
        lane_(lane),
        mine_(clique.mine(lane)),
        call_(call),
        what_(call.what),
        ranks_(clique.ranks()),
        element_(sizeOf(what_.type)),
        per_chunk_(Clique::kSlotBytes / element_ / (hasParts(what_.kind) ? ranks_ : 1)),
        chunks_((what_.count + per_chunk_ - 1) / per_chunk_),
        number_(mine_.posted.now() + 1),
        before_(mine_.read.now()) {
    // If any rank drops the content, none moves it; compare() settles that.
    const auto drop = configuration().drop;
    what_.moves = !drop || bytesOf(what_, ranks_) <= *drop;
  }

  bool step() override {
    if (stage_ == Stage::Describe && describe()) stage_ = Stage::Compare;
    if (stage_ == Stage::Compare && compare()) stage_ = Stage::Move;
    return stage_ == Stage::Move && move();
  }

 private:
  enum class Stage : uint8_t { Describe, Compare, Move };

  bool describe() {
    // The place still describes the collective before the last: wait until everybody has compared
    // it.
    if (number_ > 2 && !clique_.all(lane_, &Board::compared, number_ - 2)) return false;
    mine_.described[number_ % 2] = what_;
    mine_.posted.set(number_);
    return true;
  }

  /// Compares the descriptions of all ranks with rank 0's. Every rank does it, so each can name the
  /// culprit.
  bool compare() {
    if (!clique_.all(lane_, &Board::posted, number_)) return false;
    const Description& first = clique_.board(lane_, 0).described[number_ % 2];
    bool moves = first.moves;
    for (unsigned rank = 1; rank < ranks_; ++rank) {
      const Description& other = clique_.board(lane_, rank).described[number_ % 2];
      if (!other.agrees(first)) {
        complain(first, rank, other);
        return false;
      }
      moves = moves && other.moves;
    }
    // Somebody leaves the content out: then nobody moves any, and the collective ends here.
    if (!moves) chunks_ = 0;
    mine_.compared.set(number_);
    return true;
  }

  void complain(const Description& first, unsigned rank, const Description& other) {
    clique_.complain(joined("collective ", number_, " of a communicator of ", ranks_, " ranks: rank 0 calls ",
                            words(first), ", rank ", rank, " calls ", words(other),
                            "; all ranks must call the same in the same order"));
  }

  /// Moves chunks. The other ranks are usually at it too, so waiting for a moment is cheaper than
  /// being called again. It does not last: other streams want to move, and a rank served by this
  /// same thread would never get there.
  bool move() {
    constexpr uint64_t kPatience = 100'000;  // nanoseconds
    constexpr unsigned kSteps = 64;
    uint64_t moved_at = now();
    for (unsigned steps = 0; read_ < chunks_ && steps < kSteps;) {
      if (moveChunks()) {
        ++steps;
        moved_at = now();
      } else if (clique_.shared() || now() > moved_at + kPatience) {
        return false;
      } else {
        sched_yield();
      }
    }
    return read_ == chunks_;
  }

  /// Moves at most one chunk in each direction; reading first frees slots. @returns whether any
  /// moved
  bool moveChunks() {
    const uint64_t before = written_ + reduced_ + read_;
    if (read_ < chunks_) read();
    if (reduces(what_.kind) && reduced_ < chunks_) reduceChunk();
    if (written_ < chunks_) write();
    return written_ + reduced_ + read_ > before;
  }

  /// Elements of chunk `chunk` (of each part), counted from 0.
  size_t elements(uint64_t chunk) const { return std::min<uint64_t>(per_chunk_, what_.count - chunk * per_chunk_); }
  /// The chunk's offset in bytes within a buffer or part.
  size_t offset(uint64_t chunk) const { return chunk * per_chunk_ * element_; }
  /// The slot of `rank` for chunk `chunk` of this collective.
  std::byte* slot(unsigned rank, uint64_t chunk) const { return clique_.slot(lane_, rank, before_ + chunk); }

  /// Writes the next chunk of our values into our slot, once all ranks have read its previous
  /// content.
  void write() {
    const uint64_t number = before_ + written_ + 1;
    if (number > Clique::kSlots && !clique_.all(lane_, &Board::read, number - Clique::kSlots)) return;
    const size_t count = elements(written_);
    std::byte* to = slot(clique_.rank(), written_);
    if (hasParts(what_.kind)) {
      for (unsigned part = 0; part < ranks_; ++part)
        copyIn(to + part * count * element_, bytesAt(call_.send) + part * what_.count * element_, count);
    } else if (what_.kind != Kind::Broadcast || unsigned(what_.root) == clique_.rank()) {
      copyIn(to, bytesAt(call_.send), count);
    }
    ++written_;
    mine_.written.set(number);
  }

  /// Copies values of the current chunk, and scales them for a scaled sum.
  void copyIn(std::byte* to, const std::byte* from, size_t count) const {
    memcpy(to, from + offset(written_), count * element_);
    if (what_.reduction == kScaledSum) multiply(what_.type, factor(), to, count);
  }

  const std::byte* factor() const {
    return call_.factor.address ? bytesAt(call_.factor.address) : call_.factor.value.data();
  }

  /// The elements of a chunk that `rank` reduces: the first one and their number. A collective with
  /// parts gives each rank its part; others divide the chunk evenly, rounded up.
  std::pair<size_t, size_t> share(unsigned rank, size_t count) const {
    if (hasParts(what_.kind)) return {rank * count, count};
    const size_t part = (count + ranks_ - 1) / ranks_, begin = std::min(count, rank * part);
    return {begin, std::min(part, count - begin)};
  }

  /// Reduces our share of the next chunk, once all ranks have written it.
  void reduceChunk() {
    const uint64_t number = before_ + reduced_ + 1;
    if (!clique_.all(lane_, &Board::written, number)) return;
    const auto [begin, count] = share(clique_.rank(), elements(reduced_));
    std::vector<const std::byte*> inputs;
    for (unsigned rank = 0; rank < ranks_; ++rank) inputs.push_back(slot(rank, reduced_) + begin * element_);
    // In place: nobody else reads this part of our slot before it is reduced.
    std::byte* out = slot(clique_.rank(), reduced_) + begin * element_;
    if (what_.kind == Kind::ReduceScatter) out = receiveAt(0);
    reduce(what_.type, what_.reduction, inputs, out, count);
    ++reduced_;
    mine_.reduced.set(number);
  }

  /// The address in the receive buffer for the current chunk. A reduce-scatter reads nothing, so
  /// its reductions decide where it is.
  std::byte* receiveAt(size_t elements) const {
    const uint64_t chunk = what_.kind == Kind::ReduceScatter ? reduced_ : read_;
    return static_cast<std::byte*>(reachable(call_.receive)) + offset(chunk) + elements * element_;
  }

  /// Reads the next chunk, once all ranks have written or reduced it.
  void read() {
    const uint64_t number = before_ + read_ + 1;
    const auto before = reduces(what_.kind) ? &Board::reduced : &Board::written;
    if (!clique_.all(lane_, before, number)) return;
    const size_t count = elements(read_);
    switch (what_.kind) {
      case Kind::AllReduce:
        readShares(count);
        break;
      case Kind::Reduce:
        if (unsigned(what_.root) == clique_.rank()) readShares(count);
        break;
      case Kind::Broadcast:
        memcpy(receiveAt(0), slot(unsigned(what_.root), read_), count * element_);
        break;
      case Kind::AllGather:
      case Kind::AllToAll:
        readParts(count);
        break;
      // A reduce-scatter has written its results where they belong.
      default:
        break;
    }
    ++read_;
    mine_.read.set(number);
  }

  /// Collects the reduced shares of all ranks.
  void readShares(size_t count) const {
    for (unsigned rank = 0; rank < ranks_; ++rank) {
      const auto [begin, many] = share(rank, count);
      if (many > 0) memcpy(receiveAt(begin), slot(rank, read_) + begin * element_, many * element_);
    }
  }

  /// Collects the part for us (all-to-all) or the whole slot (all-gather) of every rank.
  void readParts(size_t count) const {
    const size_t skip = what_.kind == Kind::AllToAll ? clique_.rank() * count * element_ : 0;
    for (unsigned rank = 0; rank < ranks_; ++rank)
      memcpy(receiveAt(rank * what_.count), slot(rank, read_) + skip, count * element_);
  }

  Clique& clique_;
  const Lane lane_;
  Board& mine_;
  const Call& call_;
  Description what_;
  const unsigned ranks_;
  const size_t element_, per_chunk_;
  uint64_t chunks_;
  const uint64_t number_;  // number of the collective in this lane
  const uint64_t before_;  // number of chunks of all collectives before it
  uint64_t written_ = 0, reduced_ = 0, read_ = 0;
  Stage stage_ = Stage::Describe;
};

/// One end of a message. It goes in chunks through the channel of its two ranks, which has two
/// slots.
class End {
 public:
  End(Clique& clique, Lane lane, const Call& call)
      : clique_(clique),
        channel_(call.sends ? clique.channel(lane, clique.rank(), call.peer)
                            : clique.channel(lane, call.peer, clique.rank())),
        call_(call),
        bytes_(call.what.count * sizeOf(call.what.type)) {}

  bool sends() const { return call_.sends; }
  unsigned peer() const { return call_.peer; }
  bool done() const { return done_; }
  void step() { done_ = call_.sends ? send() : receive(); }

 private:
  size_t length() const { return std::min(Channel::kSlotBytes, bytes_ - at_); }

  /// Describes the message, then writes chunks while a slot is free. @returns whether all is
  /// written
  bool send() {
    if (!met_) {
      const uint64_t number = channel_.posted.now() + 1;
      if (channel_.compared.now() + 1 < number) return false;  // the previous description has not been read
      const auto drop = configuration().drop;
      channel_.described = call_.what;
      channel_.described.moves = moves_ = !drop || bytes_ <= *drop;
      channel_.posted.set(number);
      met_ = true;
    }
    while (moves_ && at_ < bytes_) {
      const uint64_t number = channel_.written.now() + 1;
      if (number > channel_.read.now() + 2) return false;
      const size_t length = this->length();
      memcpy(channel_.slots[number % 2], static_cast<const std::byte*>(reachable(call_.send)) + at_, length);
      at_ += length;
      channel_.written.set(number);
    }
    return true;
  }

  /// Compares the message with what this rank expects, then reads chunks. @returns whether all is
  /// read
  bool receive() {
    if (!met_ && !meet()) return false;
    while (moves_ && at_ < bytes_) {
      const uint64_t number = channel_.read.now() + 1;
      if (channel_.written.now() < number) return false;
      const size_t length = this->length();
      memcpy(static_cast<std::byte*>(reachable(call_.receive)) + at_, channel_.slots[number % 2], length);
      at_ += length;
      channel_.read.set(number);
    }
    return true;
  }

  /// Compares both sides' descriptions; complains to all ranks if they differ.
  bool meet() {
    const uint64_t number = channel_.compared.now() + 1;
    if (channel_.posted.now() < number) return false;
    if (!channel_.described.agrees(call_.what)) {
      clique_.complain(joined("message ", number, " from rank ", call_.peer, " to rank ", clique_.rank(), ": rank ",
                              call_.peer, " sends ", amount(channel_.described), ", rank ", clique_.rank(),
                              " receives ", amount(call_.what), "; both must name the same count and type"));
      return false;
    }
    moves_ = channel_.described.moves;
    met_ = true;
    channel_.compared.set(number);
    return true;
  }

  Clique& clique_;
  Channel& channel_;
  const Call& call_;
  const size_t bytes_;
  size_t at_ = 0;
  bool met_ = false, moves_ = true, done_ = false;
};

/// The messages of a group.
class Messages : public Transfer {
 public:
  Messages(Clique& clique, Lane lane, const std::vector<Call>& calls) {
    for (const Call& call : calls) ends_.emplace_back(clique, lane, call);
  }

  bool step() override {
    bool done = true;
    for (size_t i = 0; i < ends_.size(); ++i) {
      if (!ends_[i].done() && !behindAnother(i)) ends_[i].step();
      done = done && ends_[i].done();
    }
    return done;
  }

 private:
  /// Whether an earlier message with the same peer and direction is not done: they share a channel.
  bool behindAnother(size_t which) const {
    return std::any_of(ends_.begin(), ends_.begin() + static_cast<std::ptrdiff_t>(which), [&](const End& end) {
      return !end.done() && end.sends() == ends_[which].sends() && end.peer() == ends_[which].peer();
    });
  }

  std::vector<End> ends_;
};

}  // namespace

std::unique_ptr<Transfer> makeCollective(Clique& clique, Lane lane, const Call& call) {
  return std::make_unique<Collective>(clique, lane, call);
}

std::unique_ptr<Transfer> makeMessages(Clique& clique, Lane lane, const std::vector<Call>& calls) {
  return std::make_unique<Messages>(clique, lane, calls);
}

}  // namespace nullgpu::nccl
