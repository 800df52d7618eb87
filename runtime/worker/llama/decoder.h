#pragma once

// The Llama 3 decoder (docs/semantics.md §2) with what fine-tuning adds to it: LoRA, NF4, fake quantisation,
// sharding, activation checkpointing. Tokens go in; hidden states, logits, a loss or log-probabilities come out, with
// gradients of what is trained.
//
// A decoder is made once for a set of options and keeps its weights. The products of a block go through multiply(),
// which knows the methods; where weights come from and go to when they are sharded is withWeights() alone. Batches,
// ranks and optimisers belong to the workload.

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/data/model/llama.h"
#include "runtime/worker/llama/attention.h"
#include "runtime/worker/llama/fake_quant.h"
#include "runtime/worker/llama/head_loss.h"
#include "runtime/worker/llama/layers.h"
#include "runtime/worker/llama/products.h"
#include "runtime/worker/llama/sharded_weights.h"
#include "runtime/worker/llama/weight_source.h"
#include "runtime/worker/model/named_tensor.h"
#include "runtime/worker/model/optimizer.h"

namespace expc::llama {

/// Low-rank adapters (docs/semantics.md §3). With them only the adapters are trained.
struct LoraOptions {
  int64_t rank = 8;
  double alpha = 16;
  double dropout = 0;
  std::vector<Role> targets;                    // any but Embedding and Norm
  std::vector<int64_t> layers;                  // the blocks that have adapters; empty: all
  std::vector<std::pair<Role, double>> alphas;  // targets with an alpha of their own
  bool rank_stabilised = false;                 // rsLoRA (Kalajdzievski 2023): divide alpha by the rank's root
  bool dora = false;                            // scale rows to trained magnitudes (Adapter::magnitude)
  std::vector<Role> saved;                      // Embedding and Head, if they are trained whole beside the adapters

  double alphaOf(Role role) const;
  double scaleOf(Role role) const;
  bool saves(Role role) const;
};

/// The targets that stdlib/llm.exp names qv, qvo_mlp, qkvo_mlp or qvo_mlp_head; nothing for another name.
std::optional<std::vector<Role>> targetRoles(StringRef name);

/// Fake quantisation of products (docs/semantics.md §6): of all whose input is a multiple of the group, including the
/// head.
struct QatOptions {
  int64_t group = 256;
  QuantCopies copies = QuantCopies::Recomputed;
};

/// Full sharding over the ranks of a communicator, which must outlive the decoder. Each rank keeps its part of every
/// unit (embedding, block, head) of the base and gathers a unit to compute with it. Adapters are whole on every rank,
/// because they are small. All ranks make the same calls, on batches of their own.
struct Sharding {
  comm::Communicator* communicator = nullptr;
  bool prefetch = true;  // gather the next unit while one is computed with
};

/// How a decoder is trained; checkOptions() says which combinations are possible.
struct DecoderOptions {
  at::ScalarType dtype = at::kFloat;  // weights, activations, gradients: fp64, fp32, bf16 or fp16
  at::Device device = at::kCPU;
  int64_t max_length = 0;                 // tokens of the longest row; 0: config.max_positions
  std::optional<LoraOptions> lora;        // without adapters every weight is trained
  bool nf4 = false;                       // freeze the products of blocks in NF4; needs adapters
  std::optional<QatOptions> qat;          // excludes adapters
  bool activation_checkpointing = false;  // keep only a block's input, compute the block again
  std::optional<Sharding> sharding;       // has an effect with more than one rank
  unsigned rank = 0;                      // mixed into dropout: ranks with one seed drop different elements
};

/// One error that lists all reasons why no decoder can be made with these options; success if there is none.
Error checkOptions(const Config& config, const DecoderOptions& options);

/// Rows of tokens. Right padding needs no mask: attention is causal, so no real token sees it.
struct Sequences {
  at::Tensor tokens;     // int64 [B, S]
  at::Tensor positions;  // int64 [B, S]; undefined: 0 .. S - 1 in each row
  Documents documents;   // bounds of packed samples; undefined: one sample a row
};

/// A model with its weights. Not safe for several threads; passes of one decoder follow each other.
class Decoder {
 public:
  /// `options` must satisfy checkOptions. The source is asked for weights in the order of weightSpecs. A weight for
  /// NF4 is quantised on the host, in the source's type. With sharding a rank asks only for what it keeps, and the
  /// sources of all ranks must give the same weights. A source without values (WeightSource) leaves adapters without
  /// values too. `seed` draws the adapters' first matrices and dropout.
  Decoder(const Config& config, const DecoderOptions& options, uint64_t seed, const WeightSource& source);
  ~Decoder();

  /// Hidden states after the last norm, [n, width], for the tokens whose flattened indices are in `positions` (int64
  /// [n]), or for all [B * S, width] if that is undefined. The last block computes nothing that only other tokens
  /// need.
  at::Tensor hidden(const Sequences& input, const at::Tensor& positions = {});
  /// Logits [n, vocabulary] in the decoder's type, from hidden states.
  at::Tensor logits(const at::Tensor& hidden) const;
  /// The sum of the cross entropy over the labelled positions, each times its weight, in fp32 (fp64 in fp64). Divide by
  /// the sum of the weights for the mean.
  at::Tensor lossSum(const Sequences& input, const Labelled& labelled);
  /// The sum of log p(label) times its weight over the labelled positions of each row, [B] in fp32 (fp64 in fp64).
  at::Tensor rowLogProbs(const Sequences& input, const Labelled& labelled);
  /// rowLogProbs() of the reference for DPO: the model without adapters, dropout and gradients. Without adapters it
  /// is the model as it is at this moment.
  at::Tensor referenceLogProbs(const Sequences& input, const Labelled& labelled);

  /// Whether adapters drop elements of their inputs (drawn from the seed and the number of passes so far). On at
  /// first.
  void setTraining(bool training) { training_ = training; }
  /// The number of passes so far, which dropout depends on. A training that continues restores it.
  uint64_t passes() const { return passes_; }
  void setPasses(uint64_t passes) { passes_ = passes; }
  /// Whether adapters are added. Without them the decoder is the base model. On at first.
  void setAdapters(bool on) { adapters_on_ = on; }

  /// Whether products are fake-quantised if the options ask for it. On at first.
  void setFakeQuant(bool on) { fake_quant_on_ = on; }
  /// The number of weights that are fake-quantised, or that convertToInt4() converted.
  size_t fakeQuantized() const;
  /// Converts the fake-quantised weights to 4 bits. Nothing is trained afterwards. A collective when sharding.
  void convertToInt4();

  const Config& config() const { return config_; }
  const DecoderOptions& options() const { return options_; }
  /// The trained tensors in a fixed order, with torchtune's names. When sharding without adapters these are this
  /// rank's parts of units, [n], named after the unit ("layers.3"); their gradients are summed over the ranks when a
  /// backward pass ends. Gradients of adapters are each rank's own.
  const std::vector<model::NamedTensor>& trainable() const { return trainable_; }
  std::vector<at::Tensor> trainableTensors() const;
  /// The elements of trainable() that are scales of norms.
  optimizer::Undecayed norms() const;
  /// Whether trainable() holds parts of tensors, so that a norm over them needs the other ranks.
  bool trainsParts() const { return shards_ != nullptr && !options_.lora; }
  /// The adapters' matrices A and B in turn, with DoRA each followed by its magnitude, and what is trained whole beside
  /// them; empty without adapters.
  std::vector<model::NamedTensor> adapters() const;
  /// A weight of the base model as it is now; one in NF4 is dequantised to bf16, as torchtune saves it. Not allowed
  /// after convertToInt4(). When sharding, this and the next two functions are collectives that give every rank the
  /// whole result, and the unit stays gathered until the next pass.
  at::Tensor weight(const TensorSpec& spec) const;
  /// weight() with its adapter added, W + scale B A: the tuned model's weight.
  at::Tensor mergedWeight(const TensorSpec& spec) const;
  /// Calls `take` for each weight under torchtune's names. A converted weight comes as int8 `weight` with fp32
  /// `scales` and `zeros`. When sharding, a tensor is valid only until `take` returns.
  void eachOfState(const std::function<void(const model::NamedTensor&)>& take) const;
  /// The attention kernel of this device and type.
  const Attention& attention() const { return attention_; }
  /// Statistics of sharding's gathers; zeros without sharding.
  GatherCounts gathered() const { return shards_ ? shards_->counts() : GatherCounts(); }

 private:
  struct Product;  // a weight that inputs are multiplied with, and its adapter
  struct Block;
  struct Pass;  // settings and inputs that all blocks of a forward pass share

  void addWeight(const TensorSpec& spec, const WeightSource& source);
  void addAdapter(const TensorSpec& spec, bool drawn);
  /// Sets DoRA's magnitudes to the norms of the base's rows. A collective when sharding.
  void initialiseMagnitudes();
  bool isTrained(Role role) const { return !options_.lora || options_.lora->saves(role); }
  Product& productOf(const TensorSpec& spec);
  bool isPacked(const TensorSpec& spec) const;  // whether it is kept in NF4
  /// The tensor of a weight that is not in NF4.
  at::Tensor& denseOf(const TensorSpec& spec);
  const Product& productOf(const TensorSpec& spec) const { return const_cast<Decoder*>(this)->productOf(spec); }
  bool quantizes(const Product& product) const;
  /// Sharding's units are the places of a pass: 0 the embedding, then the blocks (the last one with the last norm),
  /// then the head. A tied head is the embedding's unit at another place.
  size_t headPlace() const { return size_t(config_.layers) + 1; }
  size_t unitOf(const TensorSpec& spec) const;
  bool endsUnit(const std::vector<TensorSpec>& specs, size_t i) const;
  std::vector<at::Tensor*> membersOf(size_t unit);
  at::Tensor kept(const at::Tensor& tensor) const;  // a copy, if the tensor is a view of memory that may be released
  /// Runs work(x) with the weights of a place present, by whichever way the options ask for: plain, checkpointed or
  /// sharded. `parameters` are tensors trained there beside the unit's weights.
  at::Tensor withWeights(const ShardedWeights::Use& use, const at::Tensor& x, const std::vector<at::Tensor>& parameters,
                         std::function<at::Tensor(const at::Tensor&)> work) const;
  /// x times each of several weights that read the same input, by their method. `place` numbers the call within a
  /// pass, for dropout.
  std::vector<at::Tensor> multiply(const at::Tensor& x, const std::vector<const Product*>& products, const Pass& pass,
                                   uint64_t place) const;
  Pass pass() const;  // a pass with the current settings
  at::Tensor attend(const Block& block, const at::Tensor& x, const Pass& pass) const;
  at::Tensor runBlock(const Block& block, const at::Tensor& x, const Pass& pass) const;
  /// The head's matrix, if the loss may go through it by chunks; undefined if whole logits are needed.
  at::Tensor plainHead() const;
  /// The group size with which the head is fake-quantised; 0 if it is not.
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
  std::unique_ptr<ShardedWeights> shards_;  // owns the memory of the tensors above when sharding
};

}  // namespace expc::llama
