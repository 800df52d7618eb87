// Turns, errors and the life of a communicator. The mutex is never held while something is queued:
// a full queue waits for the device's thread, which needs the mutex to do our operations.

#include "nullgpu/nccl/communicator.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>
#include <utility>

#include "nullgpu/core/cards.h"
#include "nullgpu/core/configuration.h"
#include "nullgpu/core/stream.h"
#include "nullgpu/nccl/transfer.h"

namespace nullgpu::nccl {
namespace {

constexpr auto kPause = std::chrono::microseconds(100);

/// Selects the communicator's card for calls of the runtime, and the caller's card again at the
/// end.
class OnCard {
 public:
  explicit OnCard(unsigned card) : before_(currentCard()) {
    if (card != before_) cudaSetDevice(int(card));
    moved_ = card != before_;
  }
  ~OnCard() {
    if (moved_) cudaSetDevice(int(before_));
  }

 private:
  const unsigned before_;
  bool moved_;
};

/// The number of the capture that `stream` takes part in; 0 if none.
uint64_t captureOf(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  unsigned long long number = 0;
  expect(cudaStreamGetCaptureInfo(stream, &status, &number));
  return status == cudaStreamCaptureStatusActive ? number : 0;
}

}  // namespace

/// An operation of a communicator in a stream. Operations of one communicator run strictly in the
/// order of their calls, because only that order is equal on all ranks; streams move in any order.
/// A captured one takes turns within its graph's round.
class TurnTaker : public Operation {
 public:
  /// @param turn the number among the communicator's calls, or within `round` for a captured
  /// operation
  TurnTaker(std::shared_ptr<Communicator> communicator, std::vector<Call> calls, uint64_t turn,
            std::shared_ptr<Communicator::Round> round = nullptr)
      : communicator_(std::move(communicator)), calls_(std::move(calls)), turn_(turn), round_(std::move(round)) {
    describe();
    if (!replayed()) count();
  }

  bool advance() override {
    // Never wait for the lock: a host thread that holds it may wait for us.
    const std::unique_lock lock(communicator_->mutex_, std::try_to_lock);
    if (!lock) return false;
    if (communicator_->aborted_) return true;
    communicator_->noticeComplaint();
    // After an error an operation stays in its queue for ever, as a hung collective does; abort()
    // releases it.
    if (communicator_->error_ != ncclSuccess) return false;
    if (!transfer_) {
      if (!mayBegin()) return false;
      begin();
    }
    if (!transfer_ || !transfer_->step()) return false;
    end();
    return true;
  }

  Activity* activity() override { return is_told_ ? &activity_ : nullptr; }

 private:
  bool replayed() const { return round_ != nullptr; }

  /// Whether it is this operation's turn. Replays of different graphs do not mix: one at a time has
  /// the lane.
  bool mayBegin() const {
    if (replayed()) return !communicator_->replaying_ && round_->next == turn_;
    return communicator_->turn_ == turn_;
  }

  void begin() {
    // A replayed operation gets a new number at each launch, so that faults and counters see it.
    if (number_ == 0) count();
    const Faults& faults = configuration().faults;
    if (number_ == faults.communicator) {
      communicator_->fail(ncclRemoteError, joined("the network of rank ", communicator_->rank(), " broke in operation ",
                                                  number_, " of its process, as NULLGPU_FAULTS asks for"));
      return;
    }
    if (number_ == faults.collective) return;  // the fault: it never begins, however often it is tried
    // The fault "mismatch" changes what this rank shows the others, so the comparison fails.
    if (number_ == faults.mismatch) ++calls_.front().what.count;
    const Lane lane = replayed() ? kReplayed : kCalled;
    communicator_->replaying_ = communicator_->replaying_ || replayed();
    Clique& clique = communicator_->clique_;
    transfer_ = calls_.front().what.kind == Kind::Message ? makeMessages(clique, lane, calls_)
                                                          : makeCollective(clique, lane, calls_.front());
  }

  void end() {
    transfer_.reset();
    // Back to the initial state: the next launch of the graph executes this object again.
    if (replayed()) {
      number_ = 0;
      communicator_->replaying_ = false;
      round_->next = (turn_ + 1) % round_->size;
    } else {
      ++communicator_->turn_;
    }
  }

  /// Numbers and counts the operation.
  void count() {
    static std::atomic<uint64_t> operations{0};
    number_ = ++operations;
    countCollective(countedName(calls_.front().what.kind), activity_.bytes);
  }

  /// Prepares the record of it for profiles.
  void describe() {
    activity_.name = kernelName(calls_.front().what);
    for (const Call& call : calls_) activity_.bytes += bytesOf(call.what, communicator_->ranks());
    if (communicator_->ranks() > 1) return;
    // A single rank only copies, and not even that if both buffers are one.
    activity_.work = Work::DeviceToDevice;
    is_told_ = calls_.front().send != calls_.front().receive;
  }

  const std::shared_ptr<Communicator> communicator_;
  std::vector<Call> calls_;
  const uint64_t turn_;
  const std::shared_ptr<Communicator::Round> round_;
  /// Position among all operations of this process, which the faults refer to; 0 before it begins.
  uint64_t number_ = 0;
  std::unique_ptr<Transfer> transfer_;
  Activity activity_;
  bool is_told_ = true;
};

Communicator::Communicator(const ncclUniqueId& id, unsigned ranks, unsigned rank, bool blocking)
    : card_(currentCard()), blocking_(blocking), clique_(id, ranks, rank, visibleCards().at(card_)) {}

void Communicator::meet() {
  while (!clique_.met()) std::this_thread::sleep_for(kPause);
}

ncclResult_t Communicator::state() {
  const std::lock_guard lock(mutex_);
  // Complaints of others count even before all have met.
  noticeComplaint();
  if (error_ != ncclSuccess || aborted_) return error_;
  try {
    if (!clique_.met()) return ncclInProgress;
  } catch (const Failure& failure) {
    fail(failure.answer, failure.what());
    return error_;
  }
  return finalizing_ && !idle() ? ncclInProgress : ncclSuccess;
}

void Communicator::expectReady() {
  expect(health());
  const ncclResult_t state = this->state();
  if (state == ncclSuccess) return;
  if (state == ncclInProgress)
    throw Failure(
        ncclInvalidArgument,
        "a communicator is used before the call before has ended: ask ncclCommGetAsyncError until it says so");
  const std::lock_guard lock(mutex_);
  throw Failure(state, text_);
}

void Communicator::issue(std::vector<Call> calls, cudaStream_t stream) {
  const OnCard on_card(card_);
  const uint64_t capture = captureOf(stream);
  std::shared_ptr<Round> round;
  std::unique_lock lock(mutex_);
  if (capture != 0) {
    auto& own = rounds_[capture];
    if (!own) own = std::make_shared<Round>();
    round = own;
  }
  uint64_t& number = round ? round->size : issued_;
  auto operation = std::make_shared<TurnTaker>(shared_from_this(), std::move(calls), number++, round);
  lock.unlock();  // a full queue waits until our own operations are done, which need the lock
  const cudaError_t error = enqueue(stream, std::move(operation));
  if (error == cudaSuccess) return;
  // A call that was not queued must not leave a gap in the numbers, or all later ones would wait
  // for ever.
  lock.lock();
  --number;
  expect(error);
}

void Communicator::drain() {
  while (health() == cudaSuccess) {
    {
      const std::lock_guard lock(mutex_);
      noticeComplaint();
      if (aborted_ || error_ != ncclSuccess || idle()) return;
    }
    std::this_thread::sleep_for(kPause);
  }
}

void Communicator::finalize() {
  if (blocking_) return drain();
  const std::lock_guard lock(mutex_);
  finalizing_ = true;
}

void Communicator::abort() {
  const std::lock_guard lock(mutex_);
  aborted_ = true;
}

int Communicator::keep(const Factor& factor) {
  const std::lock_guard lock(mutex_);
  factors_[next_factor_] = factor;
  return next_factor_++;
}

void Communicator::forget(int reduction) {
  factor(reduction);
  const std::lock_guard lock(mutex_);
  factors_.erase(reduction);
}

Factor Communicator::factor(int reduction) {
  const std::lock_guard lock(mutex_);
  const auto at = factors_.find(reduction);
  if (at == factors_.end())
    throw Failure(ncclInvalidArgument, "reduction ", reduction, " was not made for this communicator");
  return at->second;
}

void Communicator::fail(ncclResult_t error, const std::string& text) {
  error_ = error;
  text_ = text;
  rememberError(text);
  std::fprintf(stderr, "null GPU: NCCL, rank %u of %u: %s\n", rank(), ranks(), text.c_str());
}

void Communicator::noticeComplaint() {
  if (error_ != ncclSuccess) return;
  if (const std::string text = clique_.complaint(); !text.empty()) fail(ncclInvalidUsage, text);
}

bool Communicator::idle() { return turn_ == issued_ && !replaying_; }

}  // namespace nullgpu::nccl
