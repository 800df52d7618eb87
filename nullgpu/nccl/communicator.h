#pragma once

// A rank's end of a communicator: its operations take their turns, and its errors stay.

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "nullgpu/nccl/clique.h"

namespace nullgpu::nccl {

class Communicator : public std::enable_shared_from_this<Communicator> {
 public:
  /// On the current card. Throws Failure as Clique does; does not wait for the others.
  Communicator(const ncclUniqueId& id, unsigned ranks, unsigned rank, bool blocking);

  unsigned ranks() const { return clique_.ranks(); }
  unsigned rank() const { return clique_.rank(); }
  unsigned card() const { return card_; }
  bool blocking() const { return blocking_; }

  /// Returns when all ranks have come. Throws Failure when they disagree.
  void meet();
  /// What ncclCommGetAsyncError says.
  ncclResult_t state();
  /// Throws Failure unless operations may be issued.
  void expectReady();

  /// Queues a collective, or all messages of a group. Throws Failure.
  void issue(std::vector<Call> calls, cudaStream_t stream);
  /// Returns when all that was issued is done or nothing can be done any more.
  void drain();
  /// Nothing is left to do; a communicator that does not block waits by asking for its state.
  void finalize();
  /// Every operation of this rank ends without doing more, now and later.
  void abort();

  /// Factors of reductions, by the ncclRedOp_t that stands for them. Throws Failure for one that is not kept.
  int keep(const Factor& factor);
  void forget(int reduction);
  Factor factor(int reduction);

 private:
  friend class TurnTaker;
  /// The operations of one capture, which every launch of its graph repeats in this order.
  struct Round {
    uint64_t size = 0, next = 0;
  };

  void fail(ncclResult_t error, const std::string& text);
  void noticeComplaint();
  bool idle();

  const unsigned card_;
  const bool blocking_;
  Clique clique_;

  std::mutex mutex_;  // of all below
  ncclResult_t error_ = ncclSuccess;
  std::string text_;
  bool aborted_ = false, finalizing_ = false;
  uint64_t issued_ = 0, turn_ = 0;  // of the operations that were called
  bool replaying_ = false;
  std::map<uint64_t, std::shared_ptr<Round>> rounds_;  // by capture
  std::map<int, Factor> factors_;
  int next_factor_ = ncclNumOps;
};

}  // namespace nullgpu::nccl

/// NCCL's handle.
struct ncclComm {
  std::shared_ptr<nullgpu::nccl::Communicator> self;
};
