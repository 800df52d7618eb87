#pragma once

// What a trial tunes: how it is made, whether it fits, and the floating-point operations that tuning it needs, beside
// what a device can do (flops_utilisation).

#include <ATen/core/Tensor.h>
#include <llvm/Support/Error.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "runtime/data/llama/config.h"
#include "runtime/worker/comm/communicator.h"
#include "runtime/worker/llama/decoder.h"
#include "runtime/worker/llama/folder.h"
#include "runtime/worker/workload/llm/parameters.h"

namespace expc::workload::llm {

/// What a trial tunes, before it is made: sizes, and where weights come from.
struct Model {
  /// A named model, or a folder, which is opened and held to its config.json. An error too where the method cannot tune
  /// it. Relative paths start at `root`.
  static llvm::Expected<Model> open(const Parameters& parameters, const std::string& root);

  /// The decoder with the folder's weights, or those drawn from `seed`, which is also that of adapters and, with the
  /// rank, of dropout; or `without_values`, which takes the same memory of the device. Weights are sharded over several
  /// ranks if the parameters say so; the communicator must live longer.
  std::unique_ptr<llama::Decoder> decoder(const Parameters& parameters, c10::Device device, uint64_t seed,
                                          comm::Communicator& communicator, bool without_values) const;

  llama::Config config;
  std::string path;                     // "": it has a name
  std::optional<llama::Folder> folder;  // at that path
};

/// Bytes that each of `ranks` ranks surely holds: its part of the weights, and of what is trained gradients and the
/// optimiser's state. Activations, adapters and what is gathered come on top (docs/memory-model.md).
double leastBytes(const llama::Config& config, const Parameters& parameters, unsigned ranks);

/// Why the ranks of this host cannot hold that, with the way out; "" if they can, as far as this says. `memory` is the
/// host's in bytes, `local_ranks` share it.
std::string whyTooLarge(const llama::Config& config, const Parameters& parameters, unsigned ranks, unsigned local_ranks,
                        double memory);

/// Throws TooLarge with that before anything is made of the model, for ranks that compute on the CPU. A host whose
/// memory runs out ends whatever process it likes; on a GPU the allocator says so, and the point is infeasible.
void requireFit(const llama::Config& config, const Parameters& parameters, unsigned ranks);

/// What a step needs, whoever computes it: two operations for each weight of a product (the head's too, not the
/// embedding's) and token forward; as many back to the input, and as many again to a weight that is trained; attention
/// by the tokens that each token sees, back twice as much. Neither padding, nor what is computed again (checkpointing,
/// NF4, fake quantisation), nor dpo's reference counts.
class NeededFlops {
 public:
  explicit NeededFlops(const llama::Decoder& decoder);
  /// Of `tokens` tokens that see `seen` tokens in all (a row of n tokens: n (n + 1) / 2).
  double of(double tokens, double seen) const { return per_token_ * tokens + per_seen_ * seen; }

 private:
  double per_token_ = 0, per_seen_ = 0;
};

/// One of the matrices that are multiplied to see what a device can do: normally distributed, since one whose elements
/// are alike flips few bits, draws less power, and lets a card run at clocks that no training sees.
at::Tensor matrixOperand(int64_t size, const at::TensorOptions& options);

/// Operations a second that this rank reaches in products of square matrices of a type on its device, with its threads:
/// the best of several within about a tenth of a second. 0 if there is no memory for them. Waits for the device.
double matrixRate(at::ScalarType dtype, at::Device device, const std::function<void()>& synchronize);

}  // namespace expc::workload::llm
