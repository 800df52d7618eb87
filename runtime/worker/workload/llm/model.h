#pragma once

// The model that a trial tunes: opening it, checking that it fits into memory, making the decoder; and the
// floating-point operations that tuning needs, compared with what the device reaches (metric flops_utilisation).

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "runtime/base/llvm.h"
#include "runtime/data/model/llama.h"
#include "runtime/worker/comm/communicator.h"
#include "runtime/worker/llama/decoder.h"
#include "runtime/worker/llama/folder.h"
#include "runtime/worker/workload/llm/parameters.h"

namespace expc::workload::llm {

/// A model before its weights are made: its sizes, and the source of its weights.
struct Model {
  /// Opens a named model or a folder, which is checked against its config.json. An error also if the method cannot
  /// tune the model. Relative paths start at `root`.
  static Expected<Model> open(const Parameters& parameters, const std::string& root);

  /// Makes the decoder with the folder's weights, or with weights drawn from `seed`. The seed also draws adapters
  /// and, with the rank, dropout. `without_values` leaves weights uninitialised, in as much memory (rehearsals). The
  /// weights are sharded if the parameters say so and there are several ranks. The communicator must outlive the
  /// decoder, and so must *this.
  std::unique_ptr<llama::Decoder> decoder(const Parameters& parameters, c10::Device device, uint64_t seed,
                                          comm::Communicator& communicator, bool without_values) const;

  llama::Config config;
  std::string path;                     // "" for a named model
  std::optional<llama::Folder> folder;  // the one at `path`
};

/// A lower bound of the bytes that each of `ranks` ranks holds: its part of the weights, and of what is trained the
/// gradients and the optimiser's state. Activations, adapters and gathered weights come on top
/// (docs/memory-model.md).
double leastBytes(const llama::Config& config, const Parameters& parameters, unsigned ranks);

/// The reason why this host's ranks cannot hold that lower bound, and the way out; "" if they can. `memory` is the
/// host's in bytes, shared by `local_ranks` ranks.
std::string whyTooLarge(const llama::Config& config, const Parameters& parameters, unsigned ranks, unsigned local_ranks,
                        double memory);

/// Throws TooLarge if the host cannot hold the model. Called for ranks on the CPU before anything is made: a host
/// whose memory runs out kills whichever process it likes. On a GPU the allocator reports it, and the point becomes
/// infeasible.
void requireFit(const llama::Config& config, const Parameters& parameters, unsigned ranks);

/// The operations that a step needs, however it is computed. Forward, each weight of a product (the head's too, not
/// the embedding's) takes two operations per token. The backward pass takes as many for the input, and as many again
/// for a trained weight. Attention counts by the tokens that each token sees, and twice as much backward. Padding,
/// recomputation (checkpointing, NF4, fake quantisation) and DPO's reference do not count.
class NeededFlops {
 public:
  explicit NeededFlops(const llama::Decoder& decoder);
  /// The operations of `tokens` tokens that see `seen` tokens in all: n (n + 1) / 2 for a row of n.
  double of(double tokens, double seen) const { return per_token_ * tokens + per_seen_ * seen; }

 private:
  // Operations per token, and per pair of a token and one that it sees.
  double per_token_ = 0, per_seen_ = 0;
};

/// A matrix [size, size] for measuring the device, normally distributed. Equal elements would flip few bits and draw
/// less power, so a GPU would run at clocks that no training sees.
at::Tensor matrixOperand(int64_t size, const at::TensorOptions& options);

/// Operations per second that this rank reaches on its device, with its threads, in products of square matrices of a
/// type: the best of several within about a tenth of a second. 0 if there is no memory for the matrices. Waits for
/// the device.
double matrixRate(at::ScalarType dtype, at::Device device, const std::function<void()>& synchronize);

}  // namespace expc::workload::llm
