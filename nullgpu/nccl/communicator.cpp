#include "nullgpu/nccl/communicator.h"

#include <chrono>
#include <cstdio>
#include <thread>
#include <utility>

#include "nullgpu/core/cards.h"
#include "nullgpu/core/stream.h"
#include "nullgpu/nccl/failure.h"
#include "nullgpu/nccl/turn.h"

namespace nullgpu::nccl {
namespace {

constexpr auto kPause = std::chrono::microseconds(100);

/// Calls of the runtime are for the communicator's card meanwhile.
class OnCard {
 public:
  explicit OnCard(unsigned card) : before_(currentCard()) {
    if (card != before_) cudaSetDevice(static_cast<int>(card));
    moved_ = card != before_;
  }
  ~OnCard() {
    if (moved_) cudaSetDevice(static_cast<int>(before_));
  }

 private:
  const unsigned before_;
  bool moved_;
};

/// The number of the capture that `stream` takes part in; 0: none.
uint64_t captureOf(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  unsigned long long number = 0;
  expect(cudaStreamGetCaptureInfo(stream, &status, &number));
  return status == cudaStreamCaptureStatusActive ? number : 0;
}

}  // namespace

Communicator::Communicator(const ncclUniqueId& id, unsigned ranks, unsigned rank, bool blocking)
    : card_(currentCard()), blocking_(blocking), clique_(id, ranks, rank, visibleCards().at(card_)) {}

void Communicator::meet() {
  while (!clique_.met()) std::this_thread::sleep_for(kPause);
}

ncclResult_t Communicator::state() {
  const std::lock_guard lock(mutex_);
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
  lock.unlock();  // a full queue waits for operations of ours
  const cudaError_t error = enqueue(stream, std::move(operation));
  if (error == cudaSuccess) return;
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
  const std::lock_guard lock(mutex_);
  if (factors_.erase(reduction) == 0)
    throw Failure(ncclInvalidArgument,
                  "reduction " + std::to_string(reduction) + " was not made for this communicator");
}

Factor Communicator::factor(int reduction) {
  const std::lock_guard lock(mutex_);
  const auto at = factors_.find(reduction);
  if (at == factors_.end())
    throw Failure(ncclInvalidArgument,
                  "reduction " + std::to_string(reduction) + " was not made for this communicator");
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
