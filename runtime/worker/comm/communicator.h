#pragma once

// The ranks of a trial talking to each other: one face over c10d's process groups. Tensors on the CPU go through Gloo;
// on a GPU through NCCL once comm/cuda/nccl.h has added it.

#include <ATen/core/Tensor.h>
#include <llvm/Support/Error.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/worker/comm/rendezvous.h"

namespace expc::comm {

enum class Reduction { Sum, Max };

/// A collective that runs beside what follows it. Empty until one is moved into it.
class Pending {
 public:
  Pending() = default;
  explicit Pending(std::function<void()> finish) : finish_(std::move(finish)) {}

  /// Returns when the result may be read (a GPU tensor: by what is queued on the current stream from now on). Throws as
  /// the collective would have. Then, as before it began, there is nothing to wait for. Without it the collective still
  /// runs to its end.
  void wait() {
    if (const auto finish = std::exchange(finish_, nullptr)) finish();
  }

 private:
  std::function<void()> finish_;
};

/// c10d's objects, hidden from those who only communicate (process_group.h).
struct Group;

class Communicator {
 public:
  /// Meets the other ranks at a TCPStore that rank 0 serves and connects to each of them. Throws CommError after the
  /// timeout. Starts threads, and ignores SIGPIPE from here on. Without `on_lost` the message goes to standard error
  /// and the process leaves with code 1.
  static std::unique_ptr<Communicator> open(const Rendezvous& rendezvous, OnLost on_lost = nullptr);
  /// Frees memory and threads, sends nothing. Call shutdown() first when the trial went well; when it did not, leave by
  /// _exit().
  ~Communicator();

  unsigned rank() const;
  unsigned worldSize() const;

  // Collectives: every rank calls the same in the same order. They return when this rank's part is done (for a GPU
  // tensor: when it is queued on its stream). When another rank is lost or the timeout passes, a collective that the
  // host waits for throws CommError; one that is queued on a GPU makes `on_lost` be called, wherever the host waits
  // then, and what it left in its tensors is never read.

  /// Element by element over the ranks, in place.
  void allReduce(at::Tensor& tensor, Reduction reduction);
  /// Rank `root`'s values of many tensors of any types at once, in place, packed into buffers of at most
  /// `buffer_bytes`.
  void broadcastAll(const std::vector<at::Tensor>& tensors, unsigned root, size_t buffer_bytes);
  /// Every rank's tensor (all of one shape and type), by rank.
  std::vector<at::Tensor> allGather(const at::Tensor& tensor);
  /// Many tensors of one type at once, packed into buffers of at most `buffer_bytes` (or one tensor).
  void allReduceAll(const std::vector<at::Tensor>& tensors, Reduction reduction, size_t buffer_bytes);

  // In place on a contiguous tensor [world size * n] of one dimension, of which rank r's part is the r-th n elements.
  // No memory of that size is needed besides it. It may not be touched before wait().

  /// Every rank's part, which is there already, to all ranks.
  Pending startAllGather(const at::Tensor& whole);
  /// The reduction over all ranks of this rank's part, in its place; the other parts are lost.
  Pending startReduceScatter(const at::Tensor& whole, Reduction reduction);

  /// Work that was queued on a GPU with collectives in it that this communicator was not called for: those of a graph
  /// that is launched again. `ended` is asked from another thread; where none of what was queued ends within the
  /// timeout, `on_lost` is called as for a collective.
  void watchQueued(std::function<bool()> ended);

  /// Returns when every rank has called it. On the host: synchronise the device first.
  void barrier();
  /// Numbers on the host.
  std::vector<double> allReduce(std::vector<double> values, Reduction reduction);
  double allReduce(double value, Reduction reduction) { return allReduce(std::vector<double>{value}, reduction)[0]; }

  /// Waits for the others and takes the group down, so that nobody talks to a rank that is gone. Nothing may be called
  /// after it.
  void shutdown();

  Group& group() { return *group_; }

 private:
  explicit Communicator(std::unique_ptr<Group> group);
  std::unique_ptr<Group> group_;
};

/// What gatherOnHost holds besides tensor and result, on every rank's device.
inline constexpr int64_t kGatherBytes = 64 << 20;

/// Every rank's tensor (all of one shape and type) on the host of rank `root`, as one [world size, ...]; undefined on
/// the others. It crosses in pieces, so that no device needs room for the whole.
at::Tensor gatherOnHost(Communicator& communicator, const at::Tensor& own, unsigned root,
                        int64_t buffer_bytes = kGatherBytes);

/// Asks the others to do their part of a collective that the caller does next.
using CallOthers = std::function<void()>;

/// Runs `work` on rank `root`, for as long as it takes, while the others wait on the host: no collective is under way
/// whose timeout could run out. The root says all the while that it lives, and a rank that has heard nothing for the
/// length of the timeout throws CommError, as it does when the root's work fails or throws. What the work returns is
/// returned on the root. `work` may call the others to collectives; each call makes them run `together` once. Every
/// rank calls it.
llvm::Error whileOneWorks(
    Communicator& communicator, unsigned root, const std::function<llvm::Error(const CallOthers& call_others)>& work,
    const std::function<void()>& together = [] {});

}  // namespace expc::comm
