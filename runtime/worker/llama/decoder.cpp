#include "runtime/worker/llama/decoder.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cassert>

#include "runtime/worker/llama/checkpoint.h"
#include "runtime/worker/llama/layers.h"
#include "runtime/worker/llama/random_weights.h"

namespace expc::llama {

struct Decoder::Product {
  Role role = Role::Head;
  FrozenWeight frozen;  // without gradient, or
  at::Tensor trained;   // with, or
  Int4Weight int4;      // in 4 bits for good
  Adapter adapter;
};

struct Decoder::Block {
  int64_t index = 0;
  at::Tensor attention_norm, mlp_norm;
  Product query, key, value, output, gate, up, down;
  std::vector<at::Tensor> trainable;
};

struct Decoder::Pass {
  int64_t batch = 0, length = 0;
  at::Tensor rotations, mask;
  at::Tensor positions;  // those that the last block must give
  bool adapters = true, fake_quant = true;
  double dropout = 0;
  uint64_t number = 0;
};

std::optional<std::vector<Role>> targetRoles(llvm::StringRef name) {
  std::vector<Role> roles = {Role::Query, Role::Value};
  if (name == "qv") return roles;
  if (name == "qkvo_mlp") roles.push_back(Role::Key);
  if (name == "qvo_mlp_head") roles.push_back(Role::Head);
  roles.insert(roles.end(), {Role::Output, Role::Gate, Role::Down, Role::Up});
  if (name == "qvo_mlp" || name == "qkvo_mlp" || name == "qvo_mlp_head") return roles;
  return std::nullopt;
}

llvm::Error checkOptions(const Config& config, const DecoderOptions& options) {
  std::vector<std::string> wrong;
  if (options.max_length > config.max_positions)
    wrong.push_back(
        fmt::format("rows of {} tokens, the model has {} positions", options.max_length, config.max_positions));
  if (options.lora && config.tied &&
      std::count(options.lora->targets.begin(), options.lora->targets.end(), Role::Head) > 0)
    wrong.push_back("adapters for a head that is the embedding");
  if (options.lora && options.qat) wrong.push_back("adapters together with fake quantisation");
  if (options.nf4 && !options.lora) wrong.push_back("NF4 without adapters: nothing could be trained");
  if (options.nf4)
    for (const TensorSpec& spec : weightSpecs(config))
      if (isBlockProduct(spec.role) && spec.elements() % Nf4::kUnit != 0) {
        wrong.push_back(
            fmt::format("{} has {} values, NF4 takes multiples of {}", spec.name, spec.elements(), Nf4::kUnit));
        break;  // the other layers have the same
      }
  if (options.qat && config.width % options.qat->group != 0 && config.mlp_width % options.qat->group != 0 &&
      config.queryWidth() % options.qat->group != 0)
    wrong.push_back(fmt::format("no product has an input of a multiple of {} values to quantise", options.qat->group));
  if (wrong.empty()) return llvm::Error::success();
  return llvm::createStringError(fmt::format("this model cannot be tuned so: {}", fmt::join(wrong, "; ")));
}

Decoder::Decoder(const Config& config, const DecoderOptions& options, uint64_t seed, const WeightSource& source)
    : config_(config),
      options_(options),
      seed_(seed),
      rope_(config, options.max_length > 0 ? options.max_length : config.max_positions, options.dtype, options.device),
      blocks_(static_cast<size_t>(config.layers)),
      head_(std::make_unique<Product>()) {
  at::NoGradGuard no_grad;
  for (size_t i = 0; i < blocks_.size(); ++i) blocks_[i].index = static_cast<int64_t>(i);
  for (const TensorSpec& spec : weightSpecs(config)) {
    at::Tensor tensor = source(spec);
    assert(tensor.sizes() == at::IntArrayRef(spec.shape) && "the source gives weights of the configuration");
    addWeight(spec, std::move(tensor));
    if (options_.lora && spec.role != Role::Embedding && spec.role != Role::Norm) {
      const auto& targets = options_.lora->targets;
      if (std::find(targets.begin(), targets.end(), spec.role) != targets.end())
        addAdapter(llvm::StringRef(spec.name).drop_back(llvm::StringRef(".weight").size()).str(), productOf(spec),
                   spec.index, seed);
    }
  }
  if (config_.tied) (options_.lora ? head_->frozen.dense : head_->trained) = embedding_;
  // As for layers: those of a block are what its checkpoint hands gradients to.
  for (const model::NamedTensor& entry : trainable_) {
    llvm::StringRef name = entry.name;
    size_t layer = 0;
    if (name.consume_front("layers.") && !name.consumeInteger(10, layer))
      blocks_[layer].trainable.push_back(entry.tensor);
  }
}

Decoder::~Decoder() = default;

Decoder::Product& Decoder::productOf(const TensorSpec& spec) {
  if (spec.role == Role::Head) return *head_;
  Block& block = blocks_[(spec.index - 1) / 9];
  switch (spec.role) {
    case Role::Query:
      return block.query;
    case Role::Key:
      return block.key;
    case Role::Value:
      return block.value;
    case Role::Output:
      return block.output;
    case Role::Gate:
      return block.gate;
    case Role::Up:
      return block.up;
    default:
      assert(spec.role == Role::Down && "only products are asked for");
      return block.down;
  }
}

void Decoder::addWeight(const TensorSpec& spec, at::Tensor tensor) {
  if (options_.nf4 && isBlockProduct(spec.role)) {
    Product& product = productOf(spec);
    product.role = spec.role;
    product.frozen.nf4 = quantizeNf4(tensor.to(options_.device));
    return;
  }
  tensor = tensor.to(options_.device, options_.dtype).contiguous();
  const bool trained = !options_.lora;
  if (trained) {
    tensor.requires_grad_(true);
    trainable_.push_back({spec.name, tensor});
  }
  if (spec.role == Role::Embedding) {
    embedding_ = std::move(tensor);
  } else if (spec.role == Role::Norm) {
    if (spec.name == "norm.scale")
      norm_ = std::move(tensor);
    else if (llvm::StringRef(spec.name).ends_with("sa_norm.scale"))
      blocks_[(spec.index - 1) / 9].attention_norm = std::move(tensor);
    else
      blocks_[(spec.index - 1) / 9].mlp_norm = std::move(tensor);
  } else {
    Product& product = productOf(spec);
    product.role = spec.role;
    (trained ? product.trained : product.frozen.dense) = std::move(tensor);
  }
}

void Decoder::addAdapter(const std::string& name, Product& product, uint64_t index, uint64_t seed) {
  const int64_t rank = options_.lora->rank, out = product.frozen.rows(), in = product.frozen.columns();
  const auto type = at::TensorOptions().dtype(options_.dtype).device(options_.device);
  product.adapter.a = randomAdapter(rank, in, index, seed, options_.dtype).to(options_.device).requires_grad_(true);
  product.adapter.b = at::zeros({out, rank}, type).requires_grad_(true);
  trainable_.push_back({name + ".lora_a.weight", product.adapter.a});
  trainable_.push_back({name + ".lora_b.weight", product.adapter.b});
}

std::vector<at::Tensor> Decoder::multiply(const at::Tensor& x, const std::vector<const Product*>& products,
                                          const Pass& pass, uint64_t place) const {
  std::vector<at::Tensor> results;
  if (products[0]->int4.defined()) {
    for (const Product* product : products) results.push_back(int4Product(x, product->int4));
    return results;
  }
  if (products[0]->trained.defined()) {
    std::vector<at::Tensor> trained;
    for (const Product* product : products) trained.push_back(product->trained);
    if (pass.fake_quant && quantizes(*products[0]))
      return fakeQuantProducts(x, trained, options_.qat->group, options_.qat->copies);
    for (const at::Tensor& weight : trained) results.push_back(at::linear(x, weight));
    return results;
  }
  std::vector<FrozenWeight> weights;
  std::vector<Adapter> adapters;
  for (const Product* product : products) {
    weights.push_back(product->frozen);
    adapters.push_back(pass.adapters ? product->adapter : Adapter());
  }
  AdapterUse use;
  if (options_.lora) use.scale = options_.lora->alpha / static_cast<double>(options_.lora->rank);
  use.dropout = pass.dropout;
  use.dropout_seed = dropoutSeed(seed_, pass.number, place);
  return adaptedProducts(x, weights, adapters, use);
}

at::Tensor Decoder::attend(const Block& block, const at::Tensor& x, const Pass& pass) const {
  const auto normed = rmsNorm(x, block.attention_norm, config_.norm_epsilon);
  const auto place = static_cast<uint64_t>(4 * block.index);
  const auto projected = multiply(normed, {&block.query, &block.key, &block.value}, pass, place);
  const auto heads = [&](const at::Tensor& rows, int64_t count) {
    return rows.view({pass.batch, pass.length, count, config_.head_width});
  };
  const at::Tensor query = turn(heads(projected[0], config_.heads), pass.rotations).transpose(1, 2);
  at::Tensor key = turn(heads(projected[1], config_.kv_heads), pass.rotations).transpose(1, 2);
  at::Tensor value = heads(projected[2], config_.kv_heads).transpose(1, 2);
  const int64_t shared = config_.heads / config_.kv_heads;
  // torch's fused attention on the CPU wants as many heads of keys and values as of queries; that on a GPU does not.
  const bool grouped = shared > 1 && !x.is_cpu();
  if (shared > 1 && !grouped) {
    const auto repeated = [&](const at::Tensor& kv) {
      return kv.unsqueeze(2).expand({-1, -1, shared, -1, -1}).flatten(1, 2);
    };
    key = repeated(key);
    value = repeated(value);
  }
  const auto mask = pass.mask.defined() ? std::optional<at::Tensor>(pass.mask.unsqueeze(1)) : std::nullopt;
  const at::Tensor attended = at::scaled_dot_product_attention(query, key, value, mask, /*dropout_p=*/0.0,
                                                               /*is_causal=*/!mask, std::nullopt, grouped);
  const at::Tensor rows = attended.transpose(1, 2).reshape({x.size(0), config_.queryWidth()});
  return multiply(rows, {&block.output}, pass, place + 1)[0];
}

at::Tensor Decoder::runBlock(const Block& block, const at::Tensor& x, const Pass& pass) const {
  at::Tensor h = x + attend(block, x, pass);
  if (block.index + 1 == config_.layers && pass.positions.defined()) h = h.index_select(0, pass.positions);
  const auto place = static_cast<uint64_t>(4 * block.index);
  const auto normed = rmsNorm(h, block.mlp_norm, config_.norm_epsilon);
  const auto parts = multiply(normed, {&block.gate, &block.up}, pass, place + 2);
  return h + multiply(swiGlu(parts[0], parts[1]), {&block.down}, pass, place + 3)[0];
}

at::Tensor Decoder::hidden(const Sequences& input, const at::Tensor& positions) {
  Pass pass;
  pass.batch = input.tokens.size(0);
  pass.length = input.tokens.size(1);
  pass.rotations = rope_.rotations(input.positions, pass.length);
  pass.mask = input.mask;
  pass.positions = positions;
  pass.adapters = adapters_on_;
  pass.fake_quant = fake_quant_on_;
  pass.dropout = training_ && options_.lora ? options_.lora->dropout : 0;
  pass.number = passes_++;
  at::Tensor x = at::embedding(embedding_, input.tokens).flatten(0, 1);
  for (const Block& block : blocks_) {
    if (options_.activation_checkpointing && at::GradMode::is_enabled())
      x = checkpointed(x, block.trainable,
                       [this, &block, pass](const at::Tensor& y) { return runBlock(block, y, pass); });
    else
      x = runBlock(block, x, pass);
  }
  return rmsNorm(x, norm_, config_.norm_epsilon);
}

bool Decoder::quantizes(const Product& product) const {
  // A tied head is the embedding, which is not quantised.
  return options_.qat && product.trained.defined() && product.trained.size(1) % options_.qat->group == 0 &&
         !(config_.tied && &product == head_.get());
}

at::Tensor Decoder::plainHead() const {
  if (head_->int4.defined() || (adapters_on_ && head_->adapter.defined()) || (fake_quant_on_ && quantizes(*head_)))
    return {};
  return head_->trained.defined() ? head_->trained : head_->frozen.dense;
}

at::Tensor Decoder::logits(const at::Tensor& hidden) const {
  Pass pass;
  pass.adapters = adapters_on_;
  pass.fake_quant = fake_quant_on_;
  pass.dropout = training_ && options_.lora ? options_.lora->dropout : 0;
  pass.number = passes_;
  return multiply(hidden, {head_.get()}, pass, static_cast<uint64_t>(4 * config_.layers))[0];
}

at::Tensor Decoder::lossSum(const Sequences& input, const Labelled& labelled) {
  const at::Tensor x = hidden(input, labelled.positions), head = plainHead();
  return head.defined() ? headLossSum(x, head, labelled.targets) : logProbs(logits(x), labelled.targets).sum().neg();
}

at::Tensor Decoder::rowLogProbs(const Sequences& input, const Labelled& labelled) {
  const at::Tensor x = hidden(input, labelled.positions), head = plainHead();
  const at::Tensor each =
      head.defined() ? headLogProbs(x, head, labelled.targets) : logProbs(logits(x), labelled.targets);
  return at::zeros({input.tokens.size(0)}, each.options()).index_add(0, labelled.rows, each);
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
    if (spec.role == Role::Embedding || spec.role == Role::Norm) continue;
    const Product& product = productOf(spec);
    count += product.int4.defined() || quantizes(product);
  }
  return count;
}

void Decoder::convertToInt4() {
  for (const TensorSpec& spec : weightSpecs(config_)) {
    if (spec.role == Role::Embedding || spec.role == Role::Norm || !quantizes(productOf(spec))) continue;
    Product& product = productOf(spec);
    product.int4 = llama::convertToInt4(product.trained, options_.qat->group);
    product.trained.reset();
  }
  for (Block& block : blocks_) block.trainable.clear();
  for (const model::NamedTensor& entry : trainable_) at::Tensor(entry.tensor).requires_grad_(false);
  trainable_.clear();
}

std::vector<at::Tensor> Decoder::trainableTensors() const {
  std::vector<at::Tensor> tensors;
  for (const model::NamedTensor& entry : trainable_) tensors.push_back(entry.tensor);
  return tensors;
}

std::vector<model::NamedTensor> Decoder::adapters() const {
  return options_.lora ? trainable_ : std::vector<model::NamedTensor>();
}

at::Tensor Decoder::weight(const TensorSpec& spec) const {
  if (spec.role == Role::Embedding) return embedding_.detach();
  if (spec.role == Role::Norm) {
    if (spec.name == "norm.scale") return norm_.detach();
    const Block& block = blocks_[(spec.index - 1) / 9];
    return (llvm::StringRef(spec.name).ends_with("sa_norm.scale") ? block.attention_norm : block.mlp_norm).detach();
  }
  const Product& product = productOf(spec);
  assert(!product.int4.defined() && "its weight is gone");
  return product.trained.defined() ? product.trained.detach() : product.frozen.matrix(at::kBFloat16);
}

at::Tensor Decoder::mergedWeight(const TensorSpec& spec) const {
  at::NoGradGuard no_grad;
  const at::Tensor base = weight(spec);
  if (!options_.lora || spec.role == Role::Embedding || spec.role == Role::Norm) return base;
  const Adapter& adapter = productOf(spec).adapter;
  if (!adapter.defined()) return base;
  const double scale = options_.lora->alpha / static_cast<double>(options_.lora->rank);
  return base + at::mm(adapter.b * scale, adapter.a).to(base.scalar_type());
}

std::vector<model::NamedTensor> Decoder::state() const {
  std::vector<model::NamedTensor> state;
  for (const TensorSpec& spec : weightSpecs(config_)) {
    const bool product = spec.role != Role::Embedding && spec.role != Role::Norm;
    if (!product || !productOf(spec).int4.defined()) {
      state.push_back({spec.name, weight(spec)});
      continue;
    }
    const Int4Weight& int4 = productOf(spec).int4;
    const std::string module = llvm::StringRef(spec.name).drop_back(llvm::StringRef("weight").size()).str();
    state.push_back({spec.name, int4.values});
    state.push_back({module + "scales", int4.scales});
    state.push_back({module + "zeros", at::zeros_like(int4.scales)});
  }
  return state;
}

}  // namespace expc::llama
