// Sharding by moving memory in and out of storages. Three protocols meet here:
//
// - Memory. A unit's `whole` is a storage whose memory is swapped in after a gather and taken out again. Views of it
//   in graphs keep offsets into the storage, not addresses, so they see what the storage holds when they are read.
// - Graph. Each use of a unit is one autograd node (Node) with an inner graph. The outer graph sees only x and what is
//   trained; the inner one keeps views of the weights.
// - Order. All ranks start gathers and reductions in the same order, or they would wait for each other forever.
//   Prefetches therefore depend on places alone, never on timing.

#include "runtime/worker/llama/sharded_weights.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <llvm/ADT/STLExtras.h>
#include <malloc.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/engine.h>

#include <algorithm>
#include <cassert>

#include "runtime/base/clock.h"

namespace expc::llama {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr int64_t kAlignment = 64;  // bytes: tensors lie as well aligned as if each had memory of its own

int64_t bytesOf(const at::Tensor& tensor) { return tensor.numel() * int64_t(tensor.itemsize()); }

int64_t aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

/// Takes a tensor's memory out of its storage, which keeps its size.
at::DataPtr takeMemory(const at::Tensor& tensor) {
  return tensor.storage().unsafeGetStorageImpl()->set_data_ptr(at::DataPtr(nullptr, tensor.device()));
}

/// A tensor of so many bytes whose storage has no memory yet.
at::Tensor withoutMemory(int64_t bytes, at::Device device) {
  at::Tensor result = at::empty({0}, at::TensorOptions().dtype(at::kByte).device(device));
  const c10::Storage storage(c10::Storage::use_byte_size_t(), size_t(bytes), at::DataPtr(nullptr, result.device()),
                             /*allocator=*/nullptr, /*resizable=*/false);
  return result.set_(storage, 0, {bytes}, {1});
}

}  // namespace

int64_t partLength(int64_t length, unsigned ranks) {
  assert(ranks > 0);
  return (length + ranks - 1) / ranks;
}

/// One use of a unit: a node of the outer graph with a graph of its own inside. Whatever inner nodes keep of the
/// weights are views, whose memory can go away and come back without their knowing.
struct ShardedWeights::Pass : torch::CustomClassHolder {
  ShardedWeights* weights = nullptr;
  Use use;
  std::vector<at::Tensor> parameters;
  std::function<at::Tensor(const at::Tensor&)> work;
  bool learning = false;
  at::Tensor x, y;  // ends of the inner graph
};

struct ShardedWeights::Node : torch::autograd::Function<Node> {
  /// `learnt` are inputs only so that the outer graph knows what is trained here.
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, at::TensorList learnt,
                            const c10::intrusive_ptr<Pass>& pass) {
    ctx->saved_data["pass"] = c10::IValue::make_capsule(pass);
    ctx->saved_data["inputs"] = int64_t(2 + learnt.size());
    return pass->weights->forward(*pass, x);
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    const auto capsule = ctx->saved_data["pass"].toCapsule();
    auto& pass = static_cast<Pass&>(*capsule);
    variable_list result = pass.weights->backward(pass, gradients[0]);
    result.resize(ctx->saved_data["inputs"].toInt());
    return result;
  }
};

ShardedWeights::ShardedWeights(comm::Communicator& communicator, std::vector<size_t> order, bool prefetch)
    : communicator_(communicator),
      order_(std::move(order)),
      again_(order_.size()),
      prefetch_(prefetch),
      units_(*std::ranges::max_element(order_) + 1) {}

// Copies from tensors that have values; they may be views of the unit's earlier memory, which lives until the end of
// set().
void ShardedWeights::set(size_t index, const std::vector<at::Tensor*>& members, bool trained) {
  set(index, members, trained, members[0]->device(),
      [](const at::Tensor* member, int64_t first, const at::Tensor& own) {
        own.copy_(member->flatten().narrow(0, first, own.numel()));
      });
}

void ShardedWeights::set(size_t index, const std::vector<at::Tensor*>& members, bool trained, at::Device device,
                         const Fill& fill) {
  at::NoGradGuard no_grad;
  Unit unit;
  // Lay the members one behind the other, each as well aligned as memory of its own.
  int64_t bytes = 0;
  for (const at::Tensor* member : members) {
    assert(!trained || member->scalar_type() == members[0]->scalar_type());
    bytes = aligned(bytes) + bytesOf(*member);
  }
  // Parts of what is not trained end where tensors may begin (kAlignment), so never within an element or a block of
  // NF4 codes. A trained unit has one type, and its parts end between elements.
  const int64_t size = trained ? int64_t(members[0]->itemsize()) : kAlignment;
  const int64_t part = partLength((bytes + size - 1) / size, communicator_.worldSize()) * size;
  const int64_t begin = part * communicator_.rank(), end = begin + part;
  unit.whole = withoutMemory(part * communicator_.worldSize(), device);
  unit.part = at::zeros({part}, unit.whole.options());
  int64_t at = 0;
  for (at::Tensor* member : members) {
    const at::ScalarType type = member->scalar_type();
    const int64_t count = bytesOf(*member), element = int64_t(member->itemsize());
    // The range of this rank's part that falls into this member, in bytes of the unit.
    const int64_t first = std::clamp(begin, at, at + count), last = std::clamp(end, first, at + count);
    const at::Tensor own = last > first ? unit.part.narrow(0, first - begin, last - first).view(type)
                                        : at::empty({0}, unit.part.options().dtype(type));
    fill(member, (first - at) / element, own);
    // From here on the member is a view of memory that is not there yet.
    const at::Tensor view = unit.whole.narrow(0, at, count).view(type).view(member->sizes()).detach();
    *member = view;
    if (trained) unit.leaves.push_back(view.requires_grad_(true));
    at = aligned(at + count);
  }
  if (trained) unit.part = unit.part.view(members[0]->scalar_type()).detach().requires_grad_(true);
  if (units_[index].whole.defined()) drop(index);
  units_[index] = std::move(unit);
  // Dividing a unit leaves free memory between the parts, where the next unit does not fit, and the process would
  // grow to the size of the whole model: give it back. The large argument keeps the heap's end, with its huge pages.
  malloc_trim(size_t{1} << 40);
}

/// Waits for a collective and counts the time.
void ShardedWeights::wait(comm::Pending& pending) {
  const auto begin = base::Clock::now();
  pending.wait();
  counts_.waited_seconds += base::secondsSince(begin);
}

void ShardedWeights::start(size_t index, bool ahead) {
  Unit& unit = units_[index];
  const uint32_t version = unit.part._version();
  if (unit.state != State::Away && unit.version == version) return;
  drop(index);  // what is gathered is from before the last step
  at::NoGradGuard no_grad;
  unit.coming = at::empty_like(unit.whole);
  const at::Tensor mine = unit.part.detach().view(at::kByte);
  unit.coming.narrow(0, mine.numel() * communicator_.rank(), mine.numel()).copy_(mine);
  unit.pending = communicator_.startAllGather(unit.coming);
  unit.version = version;
  unit.state = State::Coming;
  ++counts_.gathers;
  counts_.ahead += ahead;
  counts_.bytes += unit.coming.numel();
}

void ShardedWeights::need(size_t index) {
  start(index, /*ahead=*/false);
  Unit& unit = units_[index];
  if (unit.state == State::Here) return;
  wait(unit.pending);
  // Swap the gathered memory in. Versions of the views do not change, since the values are those that graphs were
  // made with.
  unit.whole.storage().unsafeGetStorageImpl()->set_data_ptr_noswap(takeMemory(unit.coming));
  unit.coming.reset();
  unit.state = State::Here;
}

void ShardedWeights::drop(size_t index) {
  Unit& unit = units_[index];
  if (unit.state == State::Coming) wait(unit.pending);
  if (unit.state == State::Here) takeMemory(unit.whole);
  unit.coming.reset();
  unit.state = State::Away;
}

void ShardedWeights::prefetch(size_t place) {
  if (prefetch_) start(order_[place], /*ahead=*/true);
}

void ShardedWeights::hold(size_t unit) {
  for (size_t other = 0; other < units_.size(); ++other)
    if (other != unit) drop(other);
  need(unit);
}

void ShardedWeights::letGo() {
  for (size_t unit = 0; unit < units_.size(); ++unit) drop(unit);
}

/// Makes the node. Only tensors that need gradients become its inputs.
at::Tensor ShardedWeights::apply(const Use& use, const at::Tensor& x, const std::vector<at::Tensor>& parameters,
                                 std::function<at::Tensor(const at::Tensor&)> work) {
  auto pass = c10::make_intrusive<Pass>();
  pass->weights = this;
  pass->use = use;
  pass->work = std::move(work);
  for (const at::Tensor& parameter : parameters)
    if (parameter.requires_grad()) pass->parameters.push_back(parameter);
  std::vector<at::Tensor> learnt = pass->parameters;
  const Unit& unit = units_[order_[use.place]];
  if (!unit.leaves.empty()) learnt.push_back(unit.part);
  pass->learning = at::GradMode::is_enabled() && (x.requires_grad() || !learnt.empty());
  again_[use.place] = use.again || use.recompute;
  return Node::apply(x, at::TensorList(learnt), pass);
}

at::Tensor ShardedWeights::forward(Pass& pass, const at::Tensor& x) {
  const size_t place = pass.use.place, unit = order_[place];
  // The last unit of a pass stays for the backward pass, which begins with it. Otherwise prefetch the next unit: the
  // one of the next place, or at the turning point that of the place before.
  const bool last = place + 1 == order_.size(), stays = last && pass.learning && again_[place];
  need(unit);
  if (!last)
    prefetch(place + 1);
  else if (pass.learning && !stays && place > 0 && again_[place - 1])
    prefetch(place - 1);
  at::Tensor result;
  // The inner graph starts from a copy of x's handle, so that its backward pass ends there.
  if (pass.learning) pass.x = x.detach().requires_grad_(x.requires_grad());
  if (pass.learning && !pass.use.recompute) {
    at::AutoGradMode inside(true);
    pass.y = pass.work(pass.x);
    result = pass.y.detach();
  } else {
    result = pass.work(x);
  }
  if (!stays) drop(unit);
  return result;
}

/// Gradients of x and of the parameters. They are results of the node, so that whatever waits for them (a reducer)
/// sees them once; those of the unit are reduced here.
std::vector<at::Tensor> ShardedWeights::backward(Pass& pass, const at::Tensor& gradient) {
  assert(pass.x.defined() && "a graph goes back once");
  const size_t place = pass.use.place, unit = order_[place];
  if (again_[place]) need(unit);
  if (place > 0 && again_[place - 1]) prefetch(place - 1);
  const at::Tensor x = std::move(pass.x);
  at::Tensor y = std::move(pass.y);
  if (pass.use.recompute) {
    at::AutoGradMode inside(true);
    y = pass.work(x);
  }
  // Walk the inner graph: to x, to the other parameters, and to the unit's leaves if it is trained.
  std::vector<at::Tensor> wanted = pass.parameters, found;
  if (x.requires_grad()) wanted.insert(wanted.begin(), x);
  Unit& own = units_[unit];
  at::Tensor gradients;
  if (!own.leaves.empty()) {
    assert(pass.parameters.empty() && "what is trained is in the unit, or all of it is not");
    // Make the leaves' gradients views of the tensor that is reduced, so that autograd adds into it directly.
    gradients = at::zeros({own.part.numel() * communicator_.worldSize()}, own.part.options().requires_grad(false));
    for (at::Tensor& leaf : own.leaves)
      leaf.mutable_grad() = gradients.narrow(0, leaf.storage_offset(), leaf.numel()).view(leaf.sizes());
    llvm::append_range(wanted, own.leaves);
    if (y.requires_grad()) torch::autograd::backward({y}, {gradient}, /*retain_graph=*/false, false, wanted);
    if (x.requires_grad()) found = {x.grad()};
  } else if (y.requires_grad()) {
    found = torch::autograd::grad({y}, wanted, {gradient}, /*retain_graph=*/false, false, /*allow_unused=*/true);
  }
  if (!x.requires_grad()) found.insert(found.begin(), at::Tensor());
  // Release the inner graph and the views of gradients before the unit's memory goes.
  y.reset();
  for (at::Tensor& leaf : own.leaves) leaf.mutable_grad().reset();
  drop(unit);
  if (gradients.defined()) reduce(unit, std::move(gradients));
  return found;
}

/// Starts reducing a unit's gradients and finishes those of the unit before: two are in memory at a time. A callback
/// of the engine finishes the last one when the backward pass ends.
void ShardedWeights::reduce(size_t unit, at::Tensor gradients) {
  if (!finish_queued_) torch::autograd::Engine::get_default_engine().queue_callback([this] { finishReductions(); });
  finish_queued_ = true;
  comm::Pending pending = communicator_.startReduceScatter(gradients, comm::Reduction::Sum);
  Reducing next{unit, std::move(gradients), std::move(pending)};
  finishReductions();  // waits for the unit before this one
  finish_queued_ = true;
  reducing_.push_back(std::move(next));
}

/// Waits for the reductions and adds this rank's part to its gradient.
void ShardedWeights::finishReductions() {
  at::NoGradGuard no_grad;
  finish_queued_ = false;
  for (Reducing& reducing : reducing_) {
    wait(reducing.pending);
    at::Tensor& part = units_[reducing.unit].part;
    const at::Tensor mine = reducing.whole.narrow(0, part.numel() * communicator_.rank(), part.numel());
    if (part.grad().defined())
      part.mutable_grad().add_(mine);
    else
      part.mutable_grad() = mine.clone();
  }
  reducing_.clear();
}

}  // namespace expc::llama
