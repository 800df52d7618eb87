#pragma once

// A rank's end of a communicator. Operations go into streams, whose order differs from rank to
// rank; but all ranks call them in the same order. So each operation has a number and waits for its
// turn. Errors stay: after one, nothing is done until the program aborts the communicator.

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

/// Thread-safe. Operations in streams hold it, so it outlives its handle.
class Communicator : public std::enable_shared_from_this<Communicator> {
 public:
  /// Comes to the meeting, on the current card; does not wait for the others. Throws Failure as
  /// Clique does.
  /// @param blocking calls wait for the others, as without a configuration
  Communicator(const ncclUniqueId& id, unsigned ranks, unsigned rank, bool blocking);

  unsigned ranks() const { return clique_.ranks(); }
  unsigned rank() const { return clique_.rank(); }
  unsigned card() const { return card_; }
  bool blocking() const { return blocking_; }

  /// Waits until all ranks have come. Throws Failure if they disagree.
  void meet();
  /// The answer of ncclCommGetAsyncError: ncclInProgress before all have met, or an error that
  /// stays.
  ncclResult_t state();
  /// Throws Failure unless operations may be issued now.
  void expectReady();

  /// Queues a collective, or all messages of a group, to `stream`. Throws Failure.
  void issue(std::vector<Call> calls, cudaStream_t stream);
  /// Waits until everything issued is done, or until an error or abort() makes that impossible.
  void drain();
  /// Declares that nothing more will be issued. A blocking communicator waits for what was; another
  /// one reports ncclInProgress in state() until it is done.
  void finalize();
  /// Makes every operation of this rank end without doing more, now and later.
  void abort();

  /// Factors of scaled sums, by the ncclRedOp_t that stands for each. factor() and forget() throw
  /// Failure for an unknown one.
  int keep(const Factor& factor);
  void forget(int reduction);
  Factor factor(int reduction);

 private:
  friend class TurnTaker;
  /// The operations of one capture. Each launch of its graph repeats them in this order.
  struct Round {
    /// `size`: operations captured. `next`: the one whose turn it is in the current launch.
    uint64_t size = 0, next = 0;
  };

  /// Records an error that stays, and prints it: the others may never learn of it.
  void fail(ncclResult_t error, const std::string& text);
  /// Takes over an error that another rank has reported.
  void noticeComplaint();
  /// Whether no operation is queued or under way.
  bool idle();

  const unsigned card_;
  const bool blocking_;
  Clique clique_;

  std::mutex mutex_;  // protects all members below
  ncclResult_t error_ = ncclSuccess;
  std::string text_;
  bool aborted_ = false, finalizing_ = false;
  /// Operations called so far, and the number of the one whose turn it is.
  uint64_t issued_ = 0, turn_ = 0;
  /// An operation of a graph is under way in the lane of replays.
  bool replaying_ = false;
  std::map<uint64_t, std::shared_ptr<Round>> rounds_;  // by capture
  std::map<int, Factor> factors_;
  int next_factor_ = ncclNumOps;
};

}  // namespace nullgpu::nccl

/// The target of NCCL's handle.
struct ncclComm {
  std::shared_ptr<nullgpu::nccl::Communicator> self;
};
