// Observes operator calls through torch's RecordFunction and adds up operations and bytes. Bytes
// are a lower bound for the device's memory traffic: an operator is counted only if it is known to
// read its arguments whole, each tensor counts once per call, and traffic that the cache could
// absorb is subtracted. Calls that an operator makes for its own work are not counted again.

#include "runtime/worker/profile/operator_work.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/enum_tag.h>
#include <ATen/record_function.h>
#include <llvm/ADT/ScopeExit.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "runtime/base/llvm.h"
#include "runtime/worker/profile/operator_flops.h"

namespace expc::profile {
namespace {

/// Bytes that an operator must read and write, from the shapes of its arguments.
struct OperatorBytes {
  bool known = false;  // false for an operator that nothing is known of; it counts no bytes
  double read = 0;     // of its arguments, each tensor once
  double written = 0;  // into its arguments
};

/// Operators that read their arguments whole: these reductions, besides operators that multiply
/// (operator_flops.h) and those that torch tags as pointwise.
constexpr std::string_view kReductions[] = {
    "sum", "mean", "prod", "amax", "amin", "max",      "min",      "aminmax", "argmax",    "argmin",
    "all", "any",  "var",  "std",  "norm", "var_mean", "std_mean", "cumsum",  "logsumexp", "count_nonzero"};
/// More such operators; each has a backward pass, which reads its arguments whole too.
constexpr std::string_view kBothWays[] = {"_softmax",          "_log_softmax",      "native_layer_norm",
                                          "_fused_rms_norm",   "native_batch_norm", "cudnn_batch_norm",
                                          "native_group_norm", "native_dropout",    "hardtanh"};
/// More such operators, under exactly these names.
constexpr std::string_view kWhole[] = {
    "linalg_vector_norm", "hardtanh_",   "log_sigmoid_forward", "log_sigmoid_backward", "masked_fill_", "cat", "flip",
    "constant_pad_nd",    "_fused_sgd_", "_fused_adam_",        "_fused_adamw_"};
/// Operators that read some arguments in part or not at all, but write their results whole.
constexpr std::string_view kResultsOnly[] = {"embedding",
                                             "embedding_dense_backward",
                                             "index",
                                             "index_select",
                                             "gather",
                                             "nll_loss_backward",
                                             "nll_loss2d_backward",
                                             "max_pool2d_with_indices_backward",
                                             "avg_pool2d_backward",
                                             "_adaptive_avg_pool2d_backward"};
/// Operators that overwrite an argument without reading its old content.
constexpr std::string_view kOverwrites[] = {"copy_",      "fill_",   "zero_",          "normal_",       "uniform_",
                                            "bernoulli_", "random_", "_foreach_copy_", "_foreach_zero_"};
constexpr std::string_view kNamespace = "aten::", kForeach = "_foreach_";

/// Whether it is one of kBothWays or its backward pass.
bool isEitherWay(StringRef name) {
  if (!name.consume_back("_backward")) name.consume_back("_backward_data");
  return is_contained(kBothWays, std::string_view(name));
}

/// Whether the operator reads its arguments whole. A foreach operator does, whether it is one
/// launch for all tensors or one per tensor.
bool readsWhole(std::string_view name, const OperatorCall& call) {
  return is_contained(kReductions, name) || isEitherWay(name) || is_contained(kWhole, name) ||
         is_contained(kOverwrites, name) || name.find(kForeach) != std::string_view::npos || multiplies(call.name()) ||
         call.handle().hasTag(at::Tag::pointwise);
}

/// Whether this call has no use for an argument: an input of a gradient that is not wanted, or a
/// matrix that is multiplied by zero.
bool isUnused(std::string_view name, const OperatorCall& call, const std::string& argument) {
  if (name == "convolution_backward") {
    const auto mask = call.get("output_mask").toBoolList();
    return (argument == "weight" && !mask.get(0)) || (argument == "input" && !mask.get(1));
  }
  const c10::IValue beta = argument == "self" ? call.get("beta") : c10::IValue();
  return beta.isScalar() && beta.toScalar().toDouble() == 0;
}

/// Whether an argument is written. The schema of fused optimisers says that gradients may be, but
/// that happens only to unscale them.
bool isWritten(std::string_view name, const c10::Argument& argument) {
  const bool may = argument.alias_info() && argument.alias_info()->isWrite();
  return may && !(name.starts_with("_fused_") && argument.name() == "grads");
}

/// The bytes of a tensor if it is on the device, else 0. A dimension with stride 0 (an expanded
/// tensor) counts once, and no more than the storage counts.
double bytesOf(const at::Tensor& tensor, c10::DeviceType device) {
  if (!tensor.defined() || tensor.device().type() != device || tensor.layout() != at::kStrided || !tensor.has_storage())
    return 0;
  auto bytes = double(tensor.element_size());
  for (int64_t d = 0; d < tensor.dim(); ++d)
    if (tensor.stride(d) != 0 || tensor.size(d) == 0) bytes *= double(tensor.size(d));
  return std::min(bytes, double(tensor.storage().nbytes()));
}

/// The bytes of a call on the device. Operators that are not known to read their arguments whole,
/// and operators that only look at shapes, read nothing.
OperatorBytes bytesOf(const OperatorCall& call, c10::DeviceType device) {
  OperatorBytes result;
  if (!call.name().starts_with(kNamespace)) return result;
  const std::string_view name = call.name().substr(kNamespace.size());
  const bool whole = readsWhole(name, call);
  result.known = whole || is_contained(kResultsOnly, name);
  if (!result.known) return result;
  std::set<const void*> places;
  for (size_t i = 0; i < call.count(); ++i) {
    const c10::Argument& argument = call.arguments()[i];
    const bool written = isWritten(name, argument);
    const bool read = whole && !argument.is_out() && !(written && is_contained(kOverwrites, name)) &&
                      !isUnused(name, call, argument.name());
    for (const at::Tensor& tensor : tensorsIn(call.value(i))) {
      if (written) result.written += bytesOf(tensor, device);
      if (read && tensor.has_storage() && places.insert(tensor.const_data_ptr()).second)
        result.read += bytesOf(tensor, device);
    }
  }
  return result;
}

/// The bytes of new tensors among the results: those that alias no argument.
double resultBytes(const c10::OperatorHandle& handle, const std::vector<c10::IValue>& results, c10::DeviceType device) {
  const auto& returns = handle.schema().returns();
  double bytes = 0;
  for (size_t i = 0; i < std::min(returns.size(), results.size()); ++i)
    if (!returns[i].alias_info())
      for (const at::Tensor& tensor : tensorsIn(results[i])) bytes += bytesOf(tensor, device);
  return bytes;
}

/// The observation under way.
struct Observation {
  c10::DeviceType device = c10::kCPU;
  /// Bytes of the device's largest cache.
  double cache = 0;
  std::mutex mutex = {};  // protects the work
  OperatorWork work = {};
};
/// Global, because the callbacks are plain functions.
std::atomic<Observation*> observing{nullptr};

/// A known operator that has begun and not ended in this thread.
struct Frame final : at::ObserverContext {
  explicit Frame(c10::OperatorHandle of) : handle(std::move(of)) {}
  c10::OperatorHandle handle;
  /// The frame of the operator that called this one.
  Frame* outer = nullptr;
  std::optional<OperatorFlops> flops;
  OperatorBytes bytes;
  /// Autocast calls the same operator again with cast arguments; only the inner call counts then.
  bool superseded = false;
};

thread_local Frame* innermost = nullptr;

/// Elements of the first result; 0 if it is no tensor.
double elementsOfFirst(const std::vector<c10::IValue>& results) {
  if (results.empty() || !results.front().isTensor()) return 0;
  return double(results.front().toTensor().numel());
}

}  // namespace

OperatorWork operatorWork(c10::DeviceType device, size_t cache_bytes, const std::function<void()>& run) {
  assert(!observing.load() && "one observation at a time");
  Observation observation{device, double(cache_bytes)};
  observing = &observation;
  const auto begin = [](const at::RecordFunction& function) -> std::unique_ptr<at::ObserverContext> {
    Observation* state = observing.load();
    const auto name = function.operator_name();
    // Only top-level operators count. An inner call passes if it has the same name: that is
    // autocast at work.
    if (!state || !name || (innermost && innermost->handle.operator_name().name != name->name)) return nullptr;
    auto handle = c10::Dispatcher::singleton().findOp(*name);
    if (!handle) return nullptr;
    // Looking at arguments calls operators itself; do not observe those.
    const at::RecordFunctionGuard unobserved(/*is_enabled=*/false);
    const OperatorCall call(*handle, function.inputs());
    auto frame = std::make_unique<Frame>(*handle);
    frame->flops = flopsOf(call);
    frame->bytes = bytesOf(call, state->device);
    if (!frame->flops && !frame->bytes.known) return nullptr;
    if (innermost) innermost->superseded = true;
    frame->outer = std::exchange(innermost, frame.get());
    return frame;
  };
  const auto end = [](const at::RecordFunction& function, at::ObserverContext* context) {
    auto* frame = static_cast<Frame*>(context);
    if (!frame) return;
    innermost = frame->outer;
    Observation* state = observing.load();
    if (!state || frame->superseded) return;
    const auto& results = function.outputs();
    // The cache may hold as much of what was just used, so only the excess must come from memory.
    const auto beyond = [&](double bytes) { return std::max(0.0, bytes - state->cache); };
    const double written = frame->bytes.written + resultBytes(frame->handle, results, state->device);
    const std::lock_guard lock(state->mutex);
    if (frame->flops)
      state->work.operations[frame->flops->type] +=
          frame->flops->fixed + frame->flops->per_output * elementsOfFirst(results);
    if (frame->bytes.known) state->work.memory_bytes += beyond(frame->bytes.read) + beyond(written);
  };
  const at::CallbackHandle handle = at::addGlobalCallback(
      at::RecordFunctionCallback(begin, end).needsInputs(true).needsOutputs(true).scopes({at::RecordScope::FUNCTION}));
  {
    // Remove the callback even if `run` throws.
    const auto ended = llvm::make_scope_exit([&] {
      at::removeCallback(handle);
      observing = nullptr;
    });
    run();
  }
  const std::lock_guard lock(observation.mutex);
  return std::move(observation.work);
}

}  // namespace expc::profile
