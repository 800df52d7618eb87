#pragma once

// Direct preference optimisation (Rafailov et al. 2023; docs/semantics.md §5). A batch has the chosen answers of all
// pairs, then the rejected ones in the same order.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/worker/comm/communicator.h"

namespace expc::llama {

/// The loss of a pair. With z = (policy chosen - policy rejected) - (reference chosen - reference rejected), Sigmoid is
/// -(1 - e) log sigmoid(beta z) - e log sigmoid(-beta z) for a smoothing e, the share of pairs whose order is taken to
/// be wrong. Ipo (Azar et al. 2023) is (z - 1 / (2 beta))^2.
struct DpoOptions {
  enum class Kind { Sigmoid, Ipo };

  Kind kind = Kind::Sigmoid;
  double beta = 0.1;
  double smoothing = 0;  // of Sigmoid
  /// Whether z has means over an answer's learnt tokens instead of sums, as TRL's ipo and sigmoid_norm have it.
  bool by_length = false;
};

/// Losses and rewards of a batch. accuracy() and margin() read from the device, so they wait for it.
struct DpoResult {
  at::Tensor losses;                            // [pairs], with gradients
  at::Tensor chosen_rewards, rejected_rewards;  // [pairs], without
  double accuracy() const;                      // share of pairs whose chosen answer has the higher reward, strictly
  double margin() const;                        // mean of chosen reward minus rejected reward
};

/// policy and reference are summed log-probabilities [2 pairs], `lengths` the learnt tokens of each answer, which only
/// by_length needs. Rewards are always of sums. Training minimises the mean of the losses.
DpoResult dpo(const at::Tensor& policy, const at::Tensor& reference, const DpoOptions& options,
              const at::Tensor& lengths = {});

/// Log-probabilities of rows under the reference model, each computed once. They never change, so passes over the
/// data after the first cost nothing. And training every weight needs no second model, if all are asked for before
/// the first step.
class ReferenceLogProbs {
 public:
  /// For `rows` rows of data, kept on `device`, so that a step neither waits for them nor copies them there. With
  /// sharding ranks need each other in a pass: `together` makes all of them compute if one has to, and each must ask
  /// for a batch at the same time.
  explicit ReferenceLogProbs(int64_t rows, comm::Communicator* together = nullptr, at::Device device = at::kCPU);

  /// The values of the rows `ids`, in fp64 on the device. `compute` returns those of the whole batch; it is called
  /// unless all are known. `places` are the ids as int64 on the device; if undefined, they are copied there, which
  /// the host may wait for.
  at::Tensor of(ArrayRef<int64_t> ids, const std::function<at::Tensor()>& compute, const at::Tensor& places = {});
  /// All values [rows] in fp64 on the CPU, NaN where one is not known.
  at::Tensor values() const;
  /// Sets all values. False, with nothing changed, if the tensor has another shape or type.
  bool restore(const at::Tensor& values);
  /// The number of rows whose value is known.
  int64_t known() const;

 private:
  comm::Communicator* together_;
  at::Tensor values_;  // fp64 [rows]; not-a-number where not known
  std::vector<bool> known_;
};

}  // namespace expc::llama
