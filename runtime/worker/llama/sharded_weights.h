#pragma once

// Full sharding (as FSDP; docs/semantics.md §9): each rank keeps a part of the weights, and has those of one unit
// (the embedding, a block, the head) whole only while it computes with them.
//
// The idea: a unit's tensors are views of one flat storage. Gathering gives the storage memory, letting go takes it
// away, and views that graphs hold stay valid tensors all the while. So the decoder's code and torch's nodes need not
// know about it.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/worker/comm/communicator.h"

namespace expc::llama {

/// Elements (or bytes) of each rank's part of a flat tensor, which is padded with zeros to a multiple of the ranks.
int64_t partLength(int64_t length, unsigned ranks);

/// Statistics of gathers, to see whether they ran beside the computation.
struct GatherCounts {
  int64_t gathers = 0;
  int64_t ahead = 0;          // gathers begun while another unit was computed with
  int64_t bytes = 0;          // bytes of whole units
  double waited_seconds = 0;  // time in which nothing was computed, including waits for reduced gradients
};

/// The weights of all units on one rank. Methods that need other ranks are collectives: all ranks make the same calls
/// in the same order. Beside the parts at most two whole units are in memory (the second is on its way), and in a
/// backward pass the gradients of two units (those of one are being reduced). Not thread-safe, except that the
/// backward pass may run in autograd's thread.
class ShardedWeights {
 public:
  /// `order` is the unit at each place of a pass; one unit may have several places. With `prefetch` the next unit is
  /// gathered beside the computation.
  ShardedWeights(comm::Communicator& communicator, std::vector<size_t> order, bool prefetch);
  ShardedWeights(const ShardedWeights&) = delete;
  ShardedWeights& operator=(const ShardedWeights&) = delete;

  /// Writes into `own` (flat, perhaps empty) this rank's elements of a member, from element `first` on.
  using Fill = std::function<void(const at::Tensor* member, int64_t first, const at::Tensor& own)>;

  /// Takes over the tensors of a unit, which are the same on every rank: of one type if the unit is trained, else of
  /// any types. They become views of memory that is there only while the unit is gathered. In a trained unit they are
  /// leaves, and the unit's part is the tensor that an optimiser trains. Replaces the unit's earlier tensors, which
  /// the members may be views of if it is held.
  void set(size_t unit, const std::vector<at::Tensor*>& members, bool trained);
  /// Likewise for tensors that have only a type and a shape (at::kMeta). `fill` is called for one member after the
  /// other, on every rank for each.
  void set(size_t unit, const std::vector<at::Tensor*>& members, bool trained, at::Device device, const Fill& fill);
  /// This rank's part of a unit, [n]: for a trained one in its type, with gradients; else bytes.
  const at::Tensor& part(size_t unit) const { return units_[unit].part; }

  /// One use of a unit in a pass.
  struct Use {
    size_t place = 0;
    bool again = true;       // the backward pass needs the weights too
    bool recompute = false;  // keep only x, and compute again in the backward pass
  };
  /// work(x) with the unit's weights present. `parameters` are other tensors that it uses and that may need
  /// gradients. The unit's gradients are added to its part's gradient, summed over the ranks, when the backward pass
  /// ends. Gradients of `parameters` are this rank's own.
  at::Tensor apply(const Use& use, const at::Tensor& x, const std::vector<at::Tensor>& parameters,
                   std::function<at::Tensor(const at::Tensor&)> work);

  /// Gathers a unit and drops all others; it stays until the next pass begins.
  void hold(size_t unit);
  /// Drops all gathered units. Called before each pass.
  void letGo();

  const GatherCounts& counts() const { return counts_; }

 private:
  /// A unit: whole memory absent, being gathered into `coming`, or present.
  enum class State { Away, Coming, Here };
  struct Unit {
    at::Tensor whole;  // bytes [ranks * part]; has no memory unless Here
    at::Tensor part;
    std::vector<at::Tensor> leaves;  // trained views of `whole`
    State state = State::Away;
    at::Tensor coming;
    comm::Pending pending;
    uint32_t version = 0;  // version counter of `part` when it was gathered: a step changes it
  };
  /// A unit's gradients while they are reduced.
  struct Reducing {
    size_t unit;
    at::Tensor whole;
    comm::Pending pending;
  };
  struct Pass;
  struct Node;

  // start() begins a gather unless the unit is there or coming with current values; need() waits for it; drop()
  // releases its memory.
  void start(size_t unit, bool ahead);
  void need(size_t unit);
  void drop(size_t unit);
  void wait(comm::Pending& pending);
  void prefetch(size_t place);
  void reduce(size_t unit, at::Tensor gradients);
  void finishReductions();
  at::Tensor forward(Pass& pass, const at::Tensor& x);
  std::vector<at::Tensor> backward(Pass& pass, const at::Tensor& gradient);

  comm::Communicator& communicator_;
  std::vector<size_t> order_;
  std::vector<bool> again_;  // whether each place's last use needs weights in the backward pass
  bool prefetch_;
  std::vector<Unit> units_;
  std::vector<Reducing> reducing_;
  bool finish_queued_ = false;  // the current backward pass will call finishReductions() when it ends
  GatherCounts counts_;
};

}  // namespace expc::llama
