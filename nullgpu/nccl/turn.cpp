#include "nullgpu/nccl/turn.h"

#include <atomic>
#include <utility>

#include "nullgpu/core/configuration.h"

namespace nullgpu::nccl {

TurnTaker::TurnTaker(std::shared_ptr<Communicator> communicator, std::vector<Call> calls, uint64_t turn,
                     std::shared_ptr<Communicator::Round> round)
    : communicator_(std::move(communicator)), calls_(std::move(calls)), turn_(turn), round_(std::move(round)) {
  describe();
  if (!replayed()) count();
}

void TurnTaker::describe() {
  activity_.name = kernelName(calls_.front().what);
  for (const Call& call : calls_) activity_.bytes += bytesOf(call.what, communicator_->ranks());
  if (communicator_->ranks() > 1) return;
  // To itself a rank copies, if there is anything to copy.
  activity_.work = Work::DeviceToDevice;
  is_told_ = calls_.front().send != calls_.front().receive;
}

Activity* TurnTaker::activity() { return is_told_ ? &activity_ : nullptr; }

void TurnTaker::count() {
  static std::atomic<uint64_t> operations{0};
  number_ = ++operations;
  countCollective(countedName(calls_.front().what.kind), activity_.bytes);
}

bool TurnTaker::advance() {
  const std::unique_lock lock(communicator_->mutex_, std::try_to_lock);
  if (!lock) return false;
  if (communicator_->aborted_) return true;
  communicator_->noticeComplaint();
  if (communicator_->error_ != ncclSuccess) return false;
  if (!transfer_) {
    if (!mayBegin()) return false;
    begin();
  }
  if (!transfer_ || !transfer_->step()) return false;
  end();
  return true;
}

bool TurnTaker::mayBegin() const {
  if (replayed()) return !communicator_->replaying_ && round_->next == turn_;
  return communicator_->turn_ == turn_;
}

void TurnTaker::begin() {
  if (number_ == 0) count();
  const Faults& faults = configuration().faults;
  if (number_ == faults.communicator) {
    communicator_->fail(ncclRemoteError, "the network of rank " + std::to_string(communicator_->rank()) +
                                             " broke in operation " + std::to_string(number_) +
                                             " of its process, as NULLGPU_FAULTS asks for");
    return;
  }
  if (number_ == faults.collective) return;  // and again, whenever it is asked
  // The ranks compare what they ask for before they move anything.
  if (number_ == faults.mismatch) ++calls_.front().what.count;
  const Lane lane = replayed() ? kReplayed : kCalled;
  communicator_->replaying_ = communicator_->replaying_ || replayed();
  Clique& clique = communicator_->clique_;
  transfer_ = calls_.front().what.kind == Kind::Message ? makeMessages(clique, lane, calls_)
                                                        : makeCollective(clique, lane, calls_.front());
}

void TurnTaker::end() {
  transfer_.reset();
  if (replayed()) {
    number_ = 0;
    communicator_->replaying_ = false;
    round_->next = (turn_ + 1) % round_->size;
  } else {
    ++communicator_->turn_;
  }
}

}  // namespace nullgpu::nccl
