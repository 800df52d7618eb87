#pragma once

// The Llama 3 decoder (docs/semantics.md §2) with what fine-tuning adds to it.

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/data/llama/config.h"
#include "runtime/worker/llama/attention.h"
#include "runtime/worker/llama/fake_quant.h"
#include "runtime/worker/llama/head_loss.h"
#include "runtime/worker/llama/layers.h"
#include "runtime/worker/llama/products.h"
#include "runtime/worker/llama/sharded_weights.h"
#include "runtime/worker/llama/weight_source.h"
#include "runtime/worker/model/named_tensor.h"

namespace expc::llama {

/// Low-rank adapters (docs/semantics.md §3): they are trained, all else is frozen.
struct LoraOptions {
  int64_t rank = 8;
  double alpha = 16;
  double dropout = 0;
  std::vector<Role> targets;  // none of Embedding and Norm
};

/// The targets that stdlib/llm.exp names: qv, qvo_mlp, qkvo_mlp, qvo_mlp_head; nothing for another name.
std::optional<std::vector<Role>> targetRoles(llvm::StringRef name);

/// Products fake-quantised (docs/semantics.md §6): all whose input is a multiple of the group, the head with them.
struct QatOptions {
  int64_t group = 256;
  QuantCopies copies = QuantCopies::Recomputed;
};

/// Full sharding over the ranks of a communicator, which must outlive the decoder. The base's weights are spread: each
/// rank keeps its part of every unit (embedding, block, head) and gathers a unit to compute with it. Adapters are on
/// every rank: they are small. All ranks make the same calls, on batches of their own.
struct Sharding {
  comm::Communicator* communicator = nullptr;
  bool prefetch = true;  // the next unit is gathered while one is computed with
};

struct DecoderOptions {
  at::ScalarType dtype = at::kFloat;  // of weights, activations and gradients: fp64, fp32, bf16 or fp16
  at::Device device = at::kCPU;
  int64_t max_length = 0;                 // longest row; 0 takes the configuration's positions
  std::optional<LoraOptions> lora;        // without it every weight is trained
  bool nf4 = false;                       // with adapters: the products of blocks frozen in NF4
  std::optional<QatOptions> qat;          // without adapters
  bool activation_checkpointing = false;  // keep each block's input only, and compute the block again
  std::optional<Sharding> sharding;       // on more than one rank
  unsigned rank = 0;                      // ranks with the same seed drop different elements
};

/// What a decoder cannot be made with: one error that lists all of it.
llvm::Error checkOptions(const Config& config, const DecoderOptions& options);

/// Rows of tokens. Right padding needs no mask: nothing before it sees it.
struct Sequences {
  at::Tensor tokens;     // int64 [B, S]
  at::Tensor positions;  // int64 [B, S]; undefined: 0 .. S - 1 in each row
  Documents documents;   // of packed rows; undefined: a token sees all before it in its row
};

class Decoder {
 public:
  /// For options that checkOptions accepts. Weights come from the source in the order of weightSpecs; one for NF4 is
  /// quantised on the host, in the type it has. When sharding, a rank asks for what it keeps of each, and all must get
  /// elements of the same weights. Of weights without values (WeightSource) adapters have none either. `seed` is that
  /// of the adapters' first matrices and of dropout.
  Decoder(const Config& config, const DecoderOptions& options, uint64_t seed, const WeightSource& source);
  ~Decoder();

  /// Hidden states after the last norm, [n, width]: of the tokens whose flattened index is in `positions`, or of all
  /// [B * S, width] where it is undefined. What only the others need of the last block is not computed.
  at::Tensor hidden(const Sequences& input, const at::Tensor& positions = {});
  /// [n, vocabulary] in the decoder's type.
  at::Tensor logits(const at::Tensor& hidden) const;
  /// Sum of the cross entropy over the labelled positions, fp32 (fp64); divide by their count for the mean.
  at::Tensor lossSum(const Sequences& input, const Labelled& labelled);
  /// Sum of log p(label) over the labelled positions of each row, [B] in fp32 (fp64).
  at::Tensor rowLogProbs(const Sequences& input, const Labelled& labelled);
  /// The same under the model as it is now without adapters, without dropout and gradients: dpo's reference.
  at::Tensor referenceLogProbs(const Sequences& input, const Labelled& labelled);

  /// Draws dropout of adapters (from the seed and the number of calls so far) and is meant for steps; off, nothing is
  /// dropped. On from the start.
  void setTraining(bool training) { training_ = training; }
  /// The number of passes so far, on which dropout depends: for a training that goes on.
  uint64_t passes() const { return passes_; }
  void setPasses(uint64_t passes) { passes_ = passes; }
  /// Whether adapters count. Without them the decoder is the model that it was before it was trained.
  void setAdapters(bool on) { adapters_on_ = on; }

  /// Whether products are fake-quantised where the options ask for it. On from the start.
  void setFakeQuant(bool on) { fake_quant_on_ = on; }
  /// The number of weights that are fake-quantised, or were and are in int4 now.
  size_t fakeQuantized() const;
  /// Turns fake-quantised weights into 4-bit ones. From then on nothing is trained.
  void convertToInt4();

  const Config& config() const { return config_; }
  const DecoderOptions& options() const { return options_; }
  /// What is trained, in order, with torchtune's names.
  /// When sharding without adapters: this rank's part of each unit, [n], with the unit's name ("layers.3"); gradients
  /// arrive there summed over the ranks when the backward pass ends. Those of adapters are each rank's own.
  const std::vector<model::NamedTensor>& trainable() const { return trainable_; }
  std::vector<at::Tensor> trainableTensors() const;
  /// Whether trainable() is in parts, so that norms over it need the other ranks.
  bool trainsParts() const { return shards_ != nullptr && !options_.lora; }
  /// The adapters' matrices; empty without adapters.
  std::vector<model::NamedTensor> adapters() const;
  /// A weight of the base model as it is; one in NF4 dequantised to bf16, as torchtune saves it. Not after
  /// convertToInt4. When sharding this and what follows are collectives, with the whole result on every rank, and a
  /// block stays gathered until the next pass.
  at::Tensor weight(const TensorSpec& spec) const;
  /// The same with its adapter added, W + scale B A: what is saved as the tuned model.
  at::Tensor mergedWeight(const TensorSpec& spec) const;
  /// Calls take for all weights under torchtune's names, one after the other; a converted one is int8 `weight` with
  /// fp32 `scales` and `zeros` beside it. When sharding a tensor is there only until `take` returns.
  void eachOfState(const std::function<void(const model::NamedTensor&)>& take) const;
  /// What computes attention here.
  const Attention& attention() const { return attention_; }
  /// What sharding gathered so far; nothing without it.
  GatherCounts gathered() const { return shards_ ? shards_->counts() : GatherCounts(); }

 private:
  struct Product;  // a weight that inputs are multiplied with, and its adapter
  struct Block;
  struct Pass;  // what all blocks of one forward pass share

  void addWeight(const TensorSpec& spec, const WeightSource& source);
  void addAdapter(const TensorSpec& spec, bool drawn);
  Product& productOf(const TensorSpec& spec);
  bool isPacked(const TensorSpec& spec) const;  // in NF4
  /// Where a weight lies that is not.
  at::Tensor& denseOf(const TensorSpec& spec);
  const Product& productOf(const TensorSpec& spec) const { return const_cast<Decoder*>(this)->productOf(spec); }
  bool quantizes(const Product& product) const;
  /// Units of sharding are the places of a pass: the embedding, the blocks (the last with the norm), the head, which
  /// may be the embedding's.
  size_t headPlace() const { return static_cast<size_t>(config_.layers) + 1; }
  size_t unitOf(const TensorSpec& spec) const;
  bool endsUnit(const std::vector<TensorSpec>& specs, size_t i) const;
  std::vector<at::Tensor*> membersOf(size_t unit);
  at::Tensor kept(const at::Tensor& tensor) const;  // when what it is a view of is let go
  /// work(x) with the weights of a place at hand; `parameters` are what else it trains.
  at::Tensor withWeights(const ShardedWeights::Use& use, const at::Tensor& x, const std::vector<at::Tensor>& parameters,
                         std::function<at::Tensor(const at::Tensor&)> work) const;
  std::vector<at::Tensor> multiply(const at::Tensor& x, const std::vector<const Product*>& products, const Pass& pass,
                                   uint64_t place) const;
  Pass pass() const;  // with what this one is set to
  at::Tensor attend(const Block& block, const at::Tensor& x, const Pass& pass) const;
  at::Tensor runBlock(const Block& block, const at::Tensor& x, const Pass& pass) const;
  /// The head as a matrix for the loss by chunks; undefined where logits are needed as a whole.
  at::Tensor plainHead() const;
  /// The group that the head is fake-quantised by, 0 if it is not.
  int64_t headGroup() const;

  Config config_;
  DecoderOptions options_;
  uint64_t seed_;
  uint64_t passes_ = 0;
  bool training_ = true, adapters_on_ = true, fake_quant_on_ = true;
  Rope rope_;
  Attention attention_;
  at::Tensor embedding_, norm_;
  std::vector<Block> blocks_;
  std::unique_ptr<Product> head_;
  std::vector<model::NamedTensor> trainable_;
  std::unique_ptr<ShardedWeights> shards_;  // the tensors above are views of its memory
};

}  // namespace expc::llama
