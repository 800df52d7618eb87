// The decoder: making it from a source of weights, running blocks, and giving weights out again. The mathematics of
// single layers is in layers.h, products.h, attention.h and head_loss.h.
//
// Weights are identified by TensorSpec. A layer has nine of them in a fixed order behind the embedding, so (index -
// 1) / 9 is a weight's layer.

#include "runtime/worker/llama/decoder.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/ranges.h>
#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <numeric>
#include <set>

#include "runtime/base/failure.h"
#include "runtime/base/format.h"
#include "runtime/base/llvm.h"
#include "runtime/worker/llama/layers.h"
#include "runtime/worker/llama/random_weights.h"
#include "runtime/worker/llama/weight_source.h"

namespace expc::llama {

/// A matrix in one of three states, and its adapter. The options decide on the state, alike for all matrices of a kind.
struct Decoder::Product {
  FrozenWeight frozen;  // gets no gradient
  at::Tensor trained;   // gets one; it may be fake-quantised in use
  Int4Weight int4;      // converted to 4 bits for good
  Adapter adapter;
};

struct Decoder::Block {
  int64_t index = 0;
  at::Tensor attention_norm, mlp_norm;
  std::array<Product, 7> products;  // indexed by role, from Role::Query on
  /// The block's trained tensors, which a checkpointed block returns gradients for.
  std::vector<at::Tensor> trainable;

  Product& of(Role role) { return products[size_t(role) - size_t(Role::Query)]; }
  const Product& of(Role role) const { return const_cast<Block*>(this)->of(role); }
};

struct Decoder::Pass {
  int64_t batch = 0, length = 0;
  at::Tensor rotations;
  Documents documents;
  at::Tensor positions;  // the positions that the last block must give
  bool adapters = true, fake_quant = true;
  double dropout = 0;
  uint64_t number = 0;  // how many passes came before, which decides what is dropped
};

std::optional<std::vector<Role>> targetRoles(StringRef name) {
  std::vector<Role> roles = {Role::Query, Role::Value};
  if (name == "qv") return roles;
  if (name == "qkvo_mlp") roles.push_back(Role::Key);
  if (name == "qvo_mlp_head") roles.push_back(Role::Head);
  roles.insert(roles.end(), {Role::Output, Role::Gate, Role::Down, Role::Up});
  if (name == "qvo_mlp" || name == "qkvo_mlp" || name == "qvo_mlp_head") return roles;
  return std::nullopt;
}

double LoraOptions::alphaOf(Role role) const {
  const auto own = std::ranges::find(alphas, role, &std::pair<Role, double>::first);
  return own == alphas.end() ? alpha : own->second;
}

double LoraOptions::scaleOf(Role role) const {
  const auto count = double(rank);
  return alphaOf(role) / (rank_stabilised ? std::sqrt(count) : count);
}

bool LoraOptions::saves(Role role) const { return is_contained(saved, role); }

namespace {

/// Adds what is wrong with the choice of adapters to the reasons.
void checkAdapters(const Config& config, const DecoderOptions& options, std::vector<std::string>& wrong) {
  const LoraOptions& lora = *options.lora;
  const bool head = is_contained(lora.targets, Role::Head);
  if (config.tied && head) wrong.push_back("adapters for a head that is the embedding");
  if (config.tied && !lora.saved.empty())
    wrong.push_back("the head is the embedding, so neither can be trained beside adapters");
  if (head && lora.saves(Role::Head)) wrong.push_back("the head has adapters, so it cannot be trained whole as well");
  if (head && !lora.layers.empty()) wrong.push_back("adapters of some layers together with adapters for the head");
  for (const int64_t layer : lora.layers)
    if (layer < 0 || layer >= config.layers)
      wrong.push_back(
          fmt::format("adapted_layers names layer {}, the model has layers 0 to {}", layer, config.layers - 1));
  for (const auto& [role, alpha] : lora.alphas)
    if (!is_contained(lora.targets, role)) wrong.push_back("alphas names a module that has no adapters");
  if (options.qat) wrong.push_back("adapters together with fake quantisation");
}

}  // namespace

Error checkOptions(const Config& config, const DecoderOptions& options) {
  // Collect all reasons before answering, so that a user can mend them at once.
  std::vector<std::string> wrong;
  if (options.max_length > config.max_positions)
    wrong.push_back(fmt::format("rows have {} tokens, but the model only {} positions: lower max_length",
                                options.max_length, config.max_positions));
  if (options.lora) checkAdapters(config, options, wrong);
  if (options.nf4 && !options.lora) wrong.push_back("NF4 without adapters: nothing could be trained");
  if (options.nf4)
    for (const TensorSpec& spec : weightSpecs(config))
      if (isBlockProduct(spec.role) && spec.elements() % Nf4::kUnit != 0) {
        wrong.push_back(
            fmt::format("{} has {} values, NF4 takes multiples of {}", spec.name, spec.elements(), Nf4::kUnit));
        break;  // all layers have the same shapes
      }
  // A group must divide each product's input; otherwise some layers would silently stay unquantised.
  const std::set<int64_t> inputs{config.width, config.queryWidth(), config.mlp_width};
  if (options.qat && !std::ranges::all_of(inputs, [&](int64_t values) { return values % options.qat->group == 0; }))
    wrong.push_back(
        fmt::format("group_size is {}, but its products have {} inputs: a group_size must divide each of them, or some "
                    "would stay unquantised",
                    options.qat->group, fmt::join(inputs, " and ")));
  if (wrong.empty()) return Error::success();
  return failure("this model cannot be tuned this way: {}", fmt::join(wrong, "; "));
}

Decoder::Decoder(const Config& config, const DecoderOptions& options, uint64_t seed, const WeightSource& source)
    : config_(config),
      options_(options),
      seed_(seed),
      rope_(config, options.max_length > 0 ? options.max_length : config.max_positions, options.dtype, options.device),
      attention_(options.device, options.dtype, config.heads, config.kv_heads, config.head_width),
      blocks_(config.layers),
      head_(std::make_unique<Product>()) {
  // With sharding, a unit's weights are only described (meta tensors) until its last weight is known. Then the shards
  // take the descriptions, draw or read this rank's part, and turn the tensors into views of memory that comes and
  // goes.
  at::NoGradGuard no_grad;
  if (options_.sharding && options_.sharding->communicator->worldSize() > 1) {
    std::vector<size_t> order(headPlace() + 1);
    std::iota(order.begin(), order.end(), 0);
    // A tied head's place is the embedding's unit, gathered a second time.
    if (config_.tied) order.back() = 0;
    shards_ = std::make_unique<ShardedWeights>(*options_.sharding->communicator, order, options_.sharding->prefetch);
  }
  for (size_t i = 0; i < blocks_.size(); ++i) blocks_[i].index = int64_t(i);
  const std::vector<TensorSpec> specs = weightSpecs(config);
  std::optional<UnitLoader> loader;
  bool with_values = true;
  for (size_t i = 0; i < specs.size(); ++i) {
    const TensorSpec& spec = specs[i];
    if (shards_) {
      if (!loader) loader.emplace(source, *options_.sharding->communicator);
      if (isPacked(spec))
        loader->add(spec, productOf(spec).frozen.nf4);
      else
        loader->add(spec, denseOf(spec), options_.dtype);
    } else {
      addWeight(spec, source);
    }
    // Adapters are drawn for every rank alike. A source without values (a rehearsal) needs no draws either.
    with_values = !source(spec, 0, 0).is_meta();
    addAdapter(spec, /*drawn=*/with_values);
    if (!shards_ || !endsUnit(specs, i)) continue;
    const size_t unit = unitOf(spec);
    shards_->set(
        unit, membersOf(unit), trainsParts(), options_.device,
        [&](const at::Tensor* member, int64_t first, const at::Tensor& own) { loader->fill(member, first, own); });
    loader.reset();
    const std::string name = unit == 0             ? "tok_embeddings"
                             : unit == headPlace() ? "output"
                                                   : fmt::format("layers.{}", unit - 1);
    if (trainsParts()) trainable_.push_back({name, shards_->part(unit)});
  }
  if (config_.tied) (options_.lora ? head_->frozen.dense : head_->trained) = embedding_;
  // Adapters that read the same input are multiplied as one matrix; put their first matrices next to each other.
  for (Block& block : blocks_) {
    for (const std::vector<Role>& readers :
         {std::vector{Role::Query, Role::Key, Role::Value}, {Role::Gate, Role::Up}}) {
      std::vector<at::Tensor> firsts;  // first matrices of adapters that read one input
      for (const Role role : readers)
        if (block.of(role).adapter.defined()) firsts.push_back(block.of(role).adapter.a);
      layBehindEachOther(firsts);
    }
  }
  if (options_.lora && options_.lora->dora && with_values) initialiseMagnitudes();
  if (trainsParts()) return;
  // A checkpointed block is a node of its own, which returns the gradients of what the block trains: sort by layer.
  for (const model::NamedTensor& entry : trainable_) {
    StringRef name = entry.name;
    size_t layer = 0;
    if (name.consume_front("layers.") && !name.consumeInteger(10, layer))
      blocks_[layer].trainable.push_back(entry.tensor);
  }
  if (norm_.requires_grad()) blocks_.back().trainable.push_back(norm_);
}

Decoder::~Decoder() = default;

// Nine weights per layer behind the embedding (weightSpecs).
Decoder::Product& Decoder::productOf(const TensorSpec& spec) {
  if (spec.role == Role::Head) return *head_;
  assert(isBlockProduct(spec.role) && "only products are asked for");
  return blocks_[(spec.index - 1) / 9].of(spec.role);
}

bool Decoder::isPacked(const TensorSpec& spec) const { return options_.nf4 && isBlockProduct(spec.role); }

at::Tensor& Decoder::denseOf(const TensorSpec& spec) {
  if (spec.role == Role::Embedding) return embedding_;
  if (spec.role != Role::Norm) return isTrained(spec.role) ? productOf(spec).trained : productOf(spec).frozen.dense;
  if (spec.name == "norm.scale") return norm_;
  Block& block = blocks_[(spec.index - 1) / 9];
  return StringRef(spec.name).ends_with("sa_norm.scale") ? block.attention_norm : block.mlp_norm;
}

void Decoder::addWeight(const TensorSpec& spec, const WeightSource& source) {
  if (isPacked(spec)) {
    // Quantise on the host, so that the device only ever holds half a byte per value of a weight.
    const at::Tensor values = source(spec, 0, spec.elements());
    const Nf4 weight = values.is_meta() ? describeNf4(spec.shape[0], spec.shape[1], values.scalar_type())
                                        : quantizeNf4(values.view(spec.shape));
    productOf(spec).frozen.nf4 = weight.to(options_.device);
    return;
  }
  // Embedding and norms are kept dense with every method; without adapters each of them is trained.
  at::Tensor& weight = denseOf(spec);
  weight = loadedWeight(source, spec, options_.dtype, options_.device);
  if (!isTrained(spec.role)) return;
  weight.requires_grad_(true);
  trainable_.push_back({spec.name, weight});
}

/// Adds an adapter to a target: A drawn, B zero, so that the first step starts from the base model. Its seed is the
/// weight's index, which no other option changes.
void Decoder::addAdapter(const TensorSpec& spec, bool drawn) {
  if (!options_.lora || !isProduct(spec.role)) return;
  const auto& targets = options_.lora->targets;
  if (!is_contained(targets, spec.role)) return;
  const std::vector<int64_t>& layers = options_.lora->layers;
  if (!layers.empty() && !is_contained(layers, int64_t((spec.index - 1) / 9))) return;
  const std::string name = StringRef(spec.name).drop_back(StringRef(".weight").size()).str();
  Product& product = productOf(spec);
  const int64_t rank = options_.lora->rank, out = product.frozen.rows(), in = product.frozen.columns();
  const auto type = at::TensorOptions().dtype(options_.dtype).device(options_.device);
  product.adapter.a = drawn ? randomAdapter(rank, in, spec.index, seed_, options_.dtype).to(options_.device)
                            : at::empty({rank, in}, type);
  product.adapter.a.requires_grad_(true);
  product.adapter.b = at::zeros({out, rank}, type).requires_grad_(true);
  trainable_.push_back({name + ".lora_a.weight", product.adapter.a});
  trainable_.push_back({name + ".lora_b.weight", product.adapter.b});
  product.adapter.scale = options_.lora->scaleOf(spec.role);
  if (!options_.lora->dora) return;
  product.adapter.magnitude = at::zeros({out}, type).requires_grad_(true);
  trainable_.push_back({name + ".lora_magnitude_vector", product.adapter.magnitude});
}

void Decoder::initialiseMagnitudes() {
  for (const TensorSpec& spec : weightSpecs(config_)) {
    if (!isProduct(spec.role) || !productOf(spec).adapter.defined()) continue;
    if (shards_) shards_->hold(unitOf(spec));
    const Product& product = productOf(spec);
    const at::Tensor weight = adaptedWeight(product.frozen.matrix(options_.dtype), product.adapter);
    at::Tensor(product.adapter.magnitude).copy_(at::linalg_vector_norm(weight, 2, at::IntArrayRef{1}));
  }
}

// Sharding's unit of a weight, which is also its place in a pass.
size_t Decoder::unitOf(const TensorSpec& spec) const {
  if (spec.role == Role::Embedding) return 0;
  if (spec.role == Role::Head) return headPlace();
  return std::min<size_t>((spec.index - 1) / 9 + 1, blocks_.size());  // the last norm comes after the last block
}

bool Decoder::endsUnit(const std::vector<TensorSpec>& specs, size_t i) const {
  return i + 1 == specs.size() || unitOf(specs[i + 1]) != unitOf(specs[i]);
}

std::vector<at::Tensor*> Decoder::membersOf(size_t unit) {
  std::vector<at::Tensor*> members;
  // A unit's tensors in a fixed order, whatever state its products are in; ShardedWeights stores them in this order.
  const auto add = [&](llvm::MutableArrayRef<Product> products, std::vector<at::Tensor*> tensors) {
    for (Product& product : products) {
      Nf4& nf4 = product.frozen.nf4;
      tensors.insert(tensors.end(), {&product.frozen.dense, &product.trained, &product.int4.values,
                                     &product.int4.scales, &nf4.packed, &nf4.scales, &nf4.factors, &nf4.mean});
    }
    for (at::Tensor* tensor : tensors)
      if (tensor->defined()) members.push_back(tensor);
  };
  if (unit == 0) {
    add({}, {&embedding_});
  } else if (unit == headPlace()) {
    add(*head_, {});
  } else {
    Block& block = blocks_[unit - 1];
    add(block.products, {&block.attention_norm, &block.mlp_norm});
    if (unit == blocks_.size()) add({}, {&norm_});
  }
  return members;
}

at::Tensor Decoder::withWeights(const ShardedWeights::Use& use, const at::Tensor& x,
                                const std::vector<at::Tensor>& parameters,
                                std::function<at::Tensor(const at::Tensor&)> work) const {
  if (shards_) return shards_->apply(use, x, parameters, std::move(work));
  // Without gradients nothing is kept anyway, so there is nothing to recompute.
  if (use.recompute && at::GradMode::is_enabled()) return checkpointed(x, parameters, std::move(work));
  return work(x);
}

// The methods differ only here. Int4 comes first, because a converted weight has no other form any more.
std::vector<at::Tensor> Decoder::multiply(const at::Tensor& x, const std::vector<const Product*>& products,
                                          const Pass& pass, uint64_t place) const {
  std::vector<at::Tensor> results;
  // All products that share an input have the same state, so the first one decides.
  if (products[0]->int4.defined()) {
    for (const Product* product : products) results.push_back(int4Product(x, product->int4));
    return results;
  }
  if (products[0]->trained.defined()) {
    std::vector<at::Tensor> trained;
    for (const Product* product : products) trained.push_back(product->trained);
    if (pass.fake_quant && quantizes(*products[0]))
      return fakeQuantProducts(x, trained, options_.qat->group, options_.qat->copies);
    return trainedProducts(x, trained);
  }
  // Frozen weights, with adapters where they are targets and switched on.
  std::vector<FrozenWeight> weights;
  std::vector<Adapter> adapters;
  for (const Product* product : products) {
    weights.push_back(product->frozen);
    adapters.push_back(pass.adapters ? product->adapter : Adapter());
  }
  AdapterUse use;
  use.dropout = pass.dropout;
  // The rank is part of the seed: batches differ between ranks, and so must what is dropped.
  use.dropout_seed = dropoutSeed(seed_ + options_.rank, pass.number, place);
  return adaptedProducts(x, weights, adapters, use);
}

/// x [B * S, width] through a block's attention. A block numbers its four calls of multiply() for dropout: q, k and v
/// share one input and so one draw; then the output, gate with up, and down.
at::Tensor Decoder::attend(const Block& block, const at::Tensor& x, const Pass& pass) const {
  const auto normed = rmsNorm(x, block.attention_norm, config_.norm_epsilon);
  const auto place = uint64_t(4 * block.index);
  const auto projected =
      multiply(normed, {&block.of(Role::Query), &block.of(Role::Key), &block.of(Role::Value)}, pass, place);
  // Rows become heads without a copy, since a token's heads are neighbours.
  const auto heads = [&](const at::Tensor& rows, int64_t count) {
    return rows.view({pass.batch, pass.length, count, config_.head_width});
  };
  const at::Tensor query = turn(heads(projected[0], config_.heads), pass.rotations);
  const at::Tensor key = turn(heads(projected[1], config_.kv_heads), pass.rotations);
  const at::Tensor value = heads(projected[2], config_.kv_heads);
  const at::Tensor attended = pass.documents.defined() ? attention_.ofDocuments(query.flatten(0, 1), key.flatten(0, 1),
                                                                                value.flatten(0, 1), pass.documents)
                                                       : attention_.ofRows(query, key, value);
  const at::Tensor rows = attended.reshape({x.size(0), config_.queryWidth()});
  return multiply(rows, {&block.of(Role::Output)}, pass, place + 1)[0];
}

/// x [B * S, width] through one block. The last block keeps only the positions that are asked for once attention has
/// mixed them: MLP, norm and head are not computed for other tokens.
at::Tensor Decoder::runBlock(const Block& block, const at::Tensor& x, const Pass& pass) const {
  at::Tensor h = x + attend(block, x, pass);
  if (block.index + 1 == config_.layers && pass.positions.defined()) h = h.index_select(0, pass.positions);
  const auto place = uint64_t(4 * block.index);
  const auto normed = rmsNorm(h, block.mlp_norm, config_.norm_epsilon);
  const auto parts = multiply(normed, {&block.of(Role::Gate), &block.of(Role::Up)}, pass, place + 2);
  h = h + multiply(swiGlu(parts[0], parts[1]), {&block.of(Role::Down)}, pass, place + 3)[0];
  return block.index + 1 == config_.layers ? rmsNorm(h, norm_, config_.norm_epsilon) : h;
}

// Settings are copied into the pass, so that a checkpointed block computes the same again although they have changed
// since.
Decoder::Pass Decoder::pass() const {
  Pass pass;
  pass.adapters = adapters_on_;
  pass.fake_quant = fake_quant_on_;
  pass.dropout = training_ && options_.lora ? options_.lora->dropout : 0;
  pass.number = passes_;
  return pass;
}

at::Tensor Decoder::hidden(const Sequences& input, const at::Tensor& positions) {
  Pass pass = this->pass();
  ++passes_;
  pass.batch = input.tokens.size(0);
  pass.length = input.tokens.size(1);
  pass.rotations = rope_.rotations(input.positions, pass.length);
  pass.documents = input.documents;
  pass.positions = positions;
  // A step has changed the parts since the last pass, and hold() may have left a unit here.
  if (shards_) shards_->letGo();
  // The embedding's gradient does not need its weights, so they are not gathered again on the way back.
  at::Tensor x = withWeights({.place = 0, .again = false}, input.tokens, {}, [this](const at::Tensor& tokens) {
    return at::embedding(embedding_, tokens).flatten(0, 1);
  });
  for (const Block& block : blocks_) {
    const auto place = size_t(block.index + 1);
    x = withWeights({.place = place, .recompute = options_.activation_checkpointing}, x, block.trainable,
                    [this, &block, pass](const at::Tensor& y) { return runBlock(block, y, pass); });
  }
  return x;
}

bool Decoder::quantizes(const Product& product) const {
  // A tied head is the embedding, which is not quantised.
  return options_.qat && product.trained.defined() && !(config_.tied && &product == head_.get());
}

int64_t Decoder::headGroup() const { return fake_quant_on_ && quantizes(*head_) ? options_.qat->group : 0; }

/// Going by chunks, the loss never holds all logits. That is impossible with adapters or int4 (the head is no single
/// matrix).
at::Tensor Decoder::plainHead() const {
  if (head_->int4.defined() || (adapters_on_ && head_->adapter.defined())) return {};
  // torchtune's recipes hold all logits; with copies kept we measure the same memory.
  if (headGroup() > 0 && options_.qat->copies == QuantCopies::Kept) return {};
  return head_->trained.defined() ? head_->trained : head_->frozen.dense;
}

/// The whole logits, with gradients of the head's adapter. The head's multiply() has the place behind the last
/// block's.
at::Tensor Decoder::logits(const at::Tensor& hidden) const {
  std::vector<at::Tensor> parameters;
  if (head_->adapter.defined()) parameters = {head_->adapter.a, head_->adapter.b};
  if (head_->adapter.magnitude.defined()) parameters.push_back(head_->adapter.magnitude);
  return withWeights({.place = headPlace()}, hidden, parameters, [this, pass = pass()](const at::Tensor& x) {
    return multiply(x, {head_.get()}, pass, uint64_t(4 * config_.layers))[0];
  });
}

at::Tensor Decoder::lossSum(const Sequences& input, const Labelled& labelled) {
  const at::Tensor x = hidden(input, labelled.positions), head = plainHead();
  if (!head.defined()) return weighted(logProbs(logits(x), labelled.targets), labelled.weights).sum().neg();
  // Weights of at most 1 keep gradients in the range of fp16; the sum gets the factor back.
  const bool weighs = labelled.weights.defined();
  const at::Tensor largest = weighs ? labelled.weights.max() : at::Tensor();
  const at::Tensor weights = weighs ? (labelled.weights / largest).to(accumulateType(x.scalar_type())) : at::Tensor();
  // headLossSum makes the gradients in the forward pass, so the head's weights are not needed on the way back.
  const at::Tensor sum = withWeights(
      {.place = headPlace(), .again = false}, x, {},
      [head, group = headGroup(), targets = labelled.targets, weights](const at::Tensor& y) {
        return group == 0 ? headLossSum(y, head, targets, weights)
                          : headLossSum(fakeQuantActivation(y), fakeQuantWeight(head, group), targets, weights);
      });
  return weighs ? sum * largest.to(sum.scalar_type()) : sum;
}

at::Tensor Decoder::rowLogProbs(const Sequences& input, const Labelled& labelled) {
  const at::Tensor x = hidden(input, labelled.positions), head = headGroup() == 0 ? plainHead() : at::Tensor();
  // A frozen head's gradient of x is made ahead (headLogProbs), a trained one's logits are computed again.
  const at::Tensor each = head.defined() ? withWeights({.place = headPlace(), .again = head.requires_grad()}, x, {},
                                                       [head, targets = labelled.targets](const at::Tensor& y) {
                                                         return headLogProbs(y, head, targets);
                                                       })
                                         : logProbs(logits(x), labelled.targets);
  // A row without labels gets 0: it has no term in the sum.
  return at::zeros({input.tokens.size(0)}, each.options())
      .index_add(0, labelled.rows, weighted(each, labelled.weights));
}

at::Tensor Decoder::referenceLogProbs(const Sequences& input, const Labelled& labelled) {
  at::NoGradGuard no_grad;
  const bool training = training_, adapters = adapters_on_;
  training_ = adapters_on_ = false;
  const at::Tensor result = rowLogProbs(input, labelled);
  training_ = training;
  adapters_on_ = adapters;
  return result;
}

size_t Decoder::fakeQuantized() const {
  size_t count = 0;
  for (const TensorSpec& spec : weightSpecs(config_)) {
    if (!isProduct(spec.role)) continue;
    const Product& product = productOf(spec);
    count += product.int4.defined() || quantizes(product);
  }
  return count;
}

void Decoder::convertToInt4() {
  // Unit by unit: gather, convert the matrices, and shard the result again before the next unit is gathered.
  at::NoGradGuard no_grad;
  for (const model::NamedTensor& entry : trainable_) at::Tensor(entry.tensor).requires_grad_(false);
  const std::vector<TensorSpec> specs = weightSpecs(config_);
  for (size_t i = 0; i < specs.size(); ++i) {
    const TensorSpec& spec = specs[i];
    const size_t unit = unitOf(spec);
    if (shards_) shards_->hold(unit);
    if (isProduct(spec.role) && quantizes(productOf(spec))) {
      Product& product = productOf(spec);
      product.int4 = llama::convertToInt4(product.trained, options_.qat->group);
      product.trained.reset();
    }
    if (shards_ && endsUnit(specs, i)) shards_->set(unit, membersOf(unit), /*trained=*/false);
  }
  // A tied head is not quantised, but the embedding may be a new tensor now.
  if (config_.tied) head_->trained = embedding_;
  for (Block& block : blocks_) block.trainable.clear();
  trainable_.clear();
}

std::vector<at::Tensor> Decoder::trainableTensors() const { return model::tensorsOf(trainable_); }

optimizer::Undecayed Decoder::norms() const {
  optimizer::Undecayed result(trainable_.size());
  for (const TensorSpec& spec : weightSpecs(config_)) {
    if (spec.role != Role::Norm) continue;
    if (!trainsParts()) {
      for (size_t i = 0; i < trainable_.size(); ++i)
        if (trainable_[i].name == spec.name) result[i] = {{0, spec.elements()}};
      continue;
    }
    // A unit's tensors are views of it, of which this rank trains a part. Trained parts are in the order of units.
    const size_t unit = unitOf(spec);
    const int64_t length = trainable_[unit].tensor.numel(), first = length * options_.sharding->communicator->rank();
    const int64_t begin = const_cast<Decoder*>(this)->denseOf(spec).storage_offset() - first;
    const optimizer::Elements own(std::clamp<int64_t>(begin, 0, length),
                                  std::clamp<int64_t>(begin + spec.elements(), 0, length));
    if (own.first < own.second) result[unit].push_back(own);
  }
  // The optimiser takes them in ascending order.
  for (auto& elements : result) std::ranges::sort(elements);
  return result;
}

std::vector<model::NamedTensor> Decoder::adapters() const {
  return options_.lora ? trainable_ : std::vector<model::NamedTensor>();
}

at::Tensor Decoder::kept(const at::Tensor& tensor) const { return shards_ ? tensor.detach().clone() : tensor.detach(); }

at::Tensor Decoder::weight(const TensorSpec& spec) const {
  if (shards_) shards_->hold(unitOf(spec));
  if (!isProduct(spec.role)) return kept(const_cast<Decoder*>(this)->denseOf(spec));
  const Product& product = productOf(spec);
  assert(!product.int4.defined() && "its weight is gone");
  if (product.trained.defined()) return kept(product.trained);
  return product.frozen.nf4.defined() ? dequantize(product.frozen.nf4, at::kBFloat16) : kept(product.frozen.dense);
}

at::Tensor Decoder::mergedWeight(const TensorSpec& spec) const {
  at::NoGradGuard no_grad;
  const at::Tensor base = weight(spec);
  if (!options_.lora || !isProduct(spec.role)) return base;
  const Adapter& adapter = productOf(spec).adapter;
  if (!adapter.defined()) return base;
  if (adapter.magnitude.defined())
    return (adaptedWeight(base, adapter) * magnitudeFactor(base, adapter).unsqueeze(1)).to(base.scalar_type());
  // The product is computed in the adapter's type and cast once.
  return base + at::mm(adapter.b * adapter.scale, adapter.a).to(base.scalar_type());
}

void Decoder::eachOfState(const std::function<void(const model::NamedTensor&)>& take) const {
  for (const TensorSpec& spec : weightSpecs(config_)) {
    const bool product = isProduct(spec.role);
    if (!product || !productOf(spec).int4.defined()) {
      take({spec.name, weight(spec)});
      continue;
    }
    if (shards_) shards_->hold(unitOf(spec));
    const Int4Weight& int4 = productOf(spec).int4;
    const std::string module = StringRef(spec.name).drop_back(StringRef("weight").size()).str();
    take({spec.name, int4.values.detach()});
    take({module + "scales", int4.scales.detach()});
    take({module + "zeros", at::zeros_like(int4.scales)});
  }
}

}  // namespace expc::llama
