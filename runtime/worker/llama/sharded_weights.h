#pragma once

// Full sharding (docs/semantics.md §9): each rank keeps a part of the weights and has those of one unit (the embedding,
// a block, the head) whole only while it computes with them.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/worker/comm/communicator.h"

namespace expc::llama {

/// Elements (or bytes) of each rank's part of a flat tensor: it is filled up with zeros to a multiple of the ranks.
int64_t partLength(int64_t length, unsigned ranks);

/// What was gathered so far, to see whether it ran beside the computation.
struct GatherCounts {
  int64_t gathers = 0;
  int64_t ahead = 0;          // begun while another unit was computed with
  int64_t bytes = 0;          // of whole units
  double waited_seconds = 0;  // in which nothing was computed, gradients' reductions included
};

/// Every method is a collective where its result needs other ranks: all call the same in the same order. Besides the
/// parts there are at most two whole units at a time (the second is on its way) and, going back, the gradients of two
/// (those of one are being reduced).
class ShardedWeights {
 public:
  /// `order`: the unit at each place of a pass. With `prefetch` the next one is gathered beside the computation.
  ShardedWeights(comm::Communicator& communicator, std::vector<size_t> order, bool prefetch);
  ShardedWeights(const ShardedWeights&) = delete;
  ShardedWeights& operator=(const ShardedWeights&) = delete;

  /// Puts into `own` what this rank has of the elements of a member, flat, from `first` on; perhaps none.
  using Fill = std::function<void(const at::Tensor* member, int64_t first, const at::Tensor& own)>;

  /// Takes the tensors of a unit (any types and shapes if it is not trained, else of one type), which are the same on
  /// every rank. They become views, of the same shape, of memory that is there only while the unit is gathered; those
  /// of a trained unit are leaves, and its part is what an optimiser trains. Replaces what the unit was before, of
  /// which members may be views if it is held.
  void set(size_t unit, const std::vector<at::Tensor*>& members, bool trained);
  /// The same of tensors that have a type and a shape only (at::kMeta): `fill` is called for one after the other, on
  /// every rank for each.
  void set(size_t unit, const std::vector<at::Tensor*>& members, bool trained, at::Device device, const Fill& fill);
  /// This rank's part of a unit [n]: of a trained one in its type, with gradients; else bytes.
  const at::Tensor& part(size_t unit) const { return units_[unit].part; }

  /// One use of a unit in a pass.
  struct Use {
    size_t place = 0;
    bool again = true;       // the way back needs the weights too
    bool recompute = false;  // keep x only, and compute again on the way back
  };
  /// work(x) with the unit's weights at hand. `parameters` are other tensors that it uses and that may need gradients.
  /// Gradients of the unit arrive in its part's, summed over the ranks, when the backward pass ends; those of
  /// `parameters` are this rank's.
  at::Tensor apply(const Use& use, const at::Tensor& x, const std::vector<at::Tensor>& parameters,
                   std::function<at::Tensor(const at::Tensor&)> work);

  /// Gathers a unit and lets go of all others, until the next pass begins.
  void hold(size_t unit);
  /// Lets go of everything. In front of each pass.
  void letGo();

  const GatherCounts& counts() const { return counts_; }

 private:
  enum class State { Away, Coming, Here };
  struct Unit {
    at::Tensor whole;  // bytes [ranks * part]; empty memory unless Here
    at::Tensor part;
    std::vector<at::Tensor> leaves;  // views of `whole` that get gradients
    State state = State::Away;
    at::Tensor coming;
    comm::Pending pending;
    uint32_t version = 0;  // of `part` when it was gathered
  };
  /// Gradients of a unit under reduction.
  struct Reducing {
    size_t unit;
    at::Tensor whole;
    comm::Pending pending;
  };
  struct Pass;
  struct Node;

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
  std::vector<bool> again_;  // by place, as last used
  bool prefetch_;
  std::vector<Unit> units_;
  std::vector<Reducing> reducing_;
  bool finish_queued_ = false;  // the backward pass under way will finish them
  GatherCounts counts_;
};

}  // namespace expc::llama
