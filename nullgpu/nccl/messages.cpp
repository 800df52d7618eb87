// Messages from rank to rank, in chunks through the channel of the two.

#include <algorithm>
#include <cstring>

#include "nullgpu/core/configuration.h"
#include "nullgpu/core/memory.h"
#include "nullgpu/nccl/transfer.h"

namespace nullgpu::nccl {
namespace {

/// One end of a message.
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

  bool send() {
    if (!met_) {
      const uint64_t number = channel_.posted.now() + 1;
      if (channel_.compared.now() + 1 < number) return false;  // the description before still stands
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

  bool meet() {
    const uint64_t number = channel_.compared.now() + 1;
    if (channel_.posted.now() < number) return false;
    if (!channel_.described.agrees(call_.what)) {
      clique_.complain("message " + std::to_string(number) + " from rank " + std::to_string(call_.peer) + " to rank " +
                       std::to_string(clique_.rank()) + ": rank " + std::to_string(call_.peer) + " sends " +
                       amount(channel_.described) + ", rank " + std::to_string(clique_.rank()) + " receives " +
                       amount(call_.what) + "; both must name the same count and type");
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
  bool behindAnother(size_t which) const {
    return std::any_of(ends_.begin(), ends_.begin() + static_cast<std::ptrdiff_t>(which), [&](const End& end) {
      return !end.done() && end.sends() == ends_[which].sends() && end.peer() == ends_[which].peer();
    });
  }

  std::vector<End> ends_;
};

}  // namespace

std::unique_ptr<Transfer> makeMessages(Clique& clique, Lane lane, const std::vector<Call>& calls) {
  return std::make_unique<Messages>(clique, lane, calls);
}

}  // namespace nullgpu::nccl
