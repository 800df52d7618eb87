#pragma once

// Communication between the ranks of a trial, over c10d's process groups. Tensors on the CPU go
// through Gloo, tensors on a GPU through NCCL once comm/cuda/nccl.h has added it. This header hides
// c10d, whose headers are slow to compile. All functions are for one thread, the training thread.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/worker/comm/rendezvous.h"

namespace expc::comm {

/// The operation of a reduction, element by element.
enum class Reduction { Sum, Max };

/// A collective that runs beside what follows it. Movable. A default one has nothing to wait for.
class Pending {
 public:
  Pending() = default;
  explicit Pending(std::function<void()> finish) : finish_(std::move(finish)) {}

  /// Waits until the result may be read; for a GPU tensor, until work queued on the current stream
  /// from now on may read it. Throws as the collective would have. A second wait does nothing. If
  /// nobody waits, the collective still runs to its end.
  void wait() {
    if (const auto finish = std::exchange(finish_, nullptr)) finish();
  }

 private:
  std::function<void()> finish_;
};

/// The objects of c10d, hidden from those who only communicate (process_group.h).
struct Group;

/// A rank's connection to all others.
class Communicator {
 public:
  /// Meets the other ranks at a TCPStore that rank 0 serves, and connects to each of them. Starts
  /// threads, and ignores SIGPIPE from then on. Throws CommError after the timeout.
  /// @param on_lost see OnLost; without one the message goes to standard error and the process
  /// exits with code 1
  static std::unique_ptr<Communicator> open(const Rendezvous& rendezvous, OnLost on_lost = nullptr);
  /// Frees memory and threads, sends nothing. After a good trial call shutdown() first; after a
  /// failure leave by _exit() instead, since threads may be stuck.
  ~Communicator();

  unsigned rank() const;
  unsigned worldSize() const;

  // Collectives. Every rank calls the same ones in the same order. They return when this rank's
  // part is done; for a GPU tensor, when it is queued on the current stream. If another rank is
  // lost or the timeout passes, a collective that the host waits for throws CommError. One that is
  // queued on a GPU leads to a call of `on_lost`, wherever the host is waiting then, and the
  // contents of its tensors are never read.

  /// Reduces `tensor` over the ranks, in place. All have the same shape and type.
  void allReduce(at::Tensor& tensor, Reduction reduction);
  /// Copies rank `root`'s values of many tensors, of any types, to all ranks in place. They are
  /// packed into buffers of at most `buffer_bytes`.
  void broadcastAll(const std::vector<at::Tensor>& tensors, unsigned root, size_t buffer_bytes);
  /// Returns every rank's tensor, in the order of ranks. All have the same shape and type.
  std::vector<at::Tensor> allGather(const at::Tensor& tensor);
  /// Reduces many tensors of one type in place, packed into buffers of at most `buffer_bytes` (or
  /// of one tensor, if it is larger).
  void allReduceAll(const std::vector<at::Tensor>& tensors, Reduction reduction, size_t buffer_bytes);

  // The next two work in place on a contiguous tensor of one dimension, [world size * n]; rank r's
  // part is the r-th n elements. They need no second buffer of that size. The tensor may not be
  // touched before wait().

  /// Starts sending this rank's part, which is in its place already, to all ranks.
  Pending startAllGather(const at::Tensor& whole);
  /// Starts reducing each part over all ranks. Only this rank's part has a result, in its place;
  /// the others are undefined.
  Pending startReduceScatter(const at::Tensor& whole, Reduction reduction);

  /// Watches work queued on a GPU whose collectives this communicator was not called for: a graph
  /// that is launched again. `ended` is called from another thread and says whether that work is
  /// done. If nothing of what was queued ends within the timeout, `on_lost` is called as for a
  /// collective.
  void watchQueued(std::function<bool()> ended);

  /// Returns when every rank has called it. It knows nothing of the GPU: synchronise the device
  /// before.
  void barrier();
  /// Reduces numbers on the host; returns the result.
  std::vector<double> allReduce(std::vector<double> values, Reduction reduction);
  double allReduce(double value, Reduction reduction) { return allReduce(std::vector<double>{value}, reduction)[0]; }

  /// Waits for the others and takes the group down, so that nobody talks to a rank that is gone.
  /// Nothing may be called afterwards.
  void shutdown();

  /// For the other files of comm.
  Group& group() { return *group_; }

 private:
  explicit Communicator(std::unique_ptr<Group> group);
  std::unique_ptr<Group> group_;
};

/// Bytes that gatherOnHost() holds besides tensor and result, on every rank's device.
inline constexpr int64_t kGatherBytes = 64 << 20;

/// Collects every rank's tensor (all of one shape and type) on the host of rank `root`, as one
/// tensor [world size, ...]; undefined on the others. It travels in pieces, so no device needs room
/// for the whole.
at::Tensor gatherOnHost(Communicator& communicator, const at::Tensor& own, unsigned root,
                        int64_t buffer_bytes = kGatherBytes);

/// Asks the other ranks to do their part of a collective that the caller is about to do.
using CallOthers = std::function<void()>;

/// Runs `work` on rank `root`, for as long as it takes, while the others wait on the host. Every
/// rank calls it. No collective is under way meanwhile, so no timeout of one can run out. The root
/// gives signs of life; a rank that hears nothing for the length of the timeout throws CommError,
/// and so it does if `work` fails or throws. Returns the error of `work` on the root, success
/// elsewhere. `work` may call the others to a collective; each call makes them run `together` once.
Error whileOneWorks(
    Communicator& communicator, unsigned root, const std::function<Error(const CallOthers& call_others)>& work,
    const std::function<void()>& together = [] {});

}  // namespace expc::comm
