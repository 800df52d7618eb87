#pragma once

// Direct preference optimisation (docs/semantics.md §5). Rows of a batch: the chosen answers, then the rejected ones.

#include <ATen/core/Tensor.h>
#include <llvm/ADT/ArrayRef.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/worker/comm/communicator.h"

namespace expc::llama {

struct DpoResult {
  at::Tensor losses;                            // [pairs], with gradients
  at::Tensor chosen_rewards, rejected_rewards;  // [pairs], without
  double accuracy() const;                      // share of the pairs whose chosen answer has the higher reward
  double margin() const;                        // mean reward of the chosen answers above the rejected ones
};

/// -log s(beta z) for z = (policy chosen - policy rejected) - (the same of the reference); policy and reference are
/// log-probabilities [2 pairs]. Train on the mean of the losses.
DpoResult dpo(const at::Tensor& policy, const at::Tensor& reference, double beta);

/// Log-probabilities of rows under the reference model, each computed once: they never change, so that a pass over the
/// data after the first costs nothing, and training every weight needs no second model if they were asked for before
/// the first step.
class ReferenceLogProbs {
 public:
  /// They are kept on `device`, so that a step neither waits for them nor sends them. With ranks whose passes need each
  /// other (sharding), all compute when one of them has to: each asks for a batch at the same time.
  explicit ReferenceLogProbs(int64_t rows, comm::Communicator* together = nullptr, at::Device device = at::kCPU);

  /// Those of the rows `ids`, in fp64 on the device. `compute` gives all of the batch's; it is called unless all are
  /// known. `places` are the ids as int64 on the device; undefined, they are sent there, for which the host may wait.
  at::Tensor of(llvm::ArrayRef<int64_t> ids, const std::function<at::Tensor()>& compute, const at::Tensor& places = {});
  /// All of them [rows] in fp64 on the CPU, not-a-number where one is not known; and back. False, with nothing changed,
  /// if the tensor is of another shape or type.
  at::Tensor values() const;
  bool restore(const at::Tensor& values);
  /// How many are known.
  int64_t known() const;

 private:
  comm::Communicator* together_;
  at::Tensor values_;  // fp64 [rows]; not-a-number where not known
  std::vector<bool> known_;
};

}  // namespace expc::llama
