#include "runtime/worker/profile/operator_work.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/enum_tag.h>
#include <ATen/record_function.h>
#include <llvm/ADT/ScopeExit.h>
#include <llvm/ADT/StringRef.h>

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

#include "runtime/worker/profile/operator_flops.h"

namespace expc::profile {
namespace {

/// Bytes that an operator must read and write, from the shapes of what it is given.
struct OperatorBytes {
  bool known = false;  // false: an operator of which nothing is said here; it moves no bytes then
  double read = 0;     // of what it is given, each byte once
  double written = 0;  // into what it is given
};

/// Besides what multiplies (operator_flops.h), and what torch itself calls pointwise.
constexpr std::string_view kReductions[] = {
    "sum", "mean", "prod", "amax", "amin", "max",      "min",      "aminmax", "argmax",    "argmin",
    "all", "any",  "var",  "std",  "norm", "var_mean", "std_mean", "cumsum",  "logsumexp", "count_nonzero"};
/// Each with its backward pass.
constexpr std::string_view kBothWays[] = {"_softmax",          "_log_softmax",      "native_layer_norm",
                                          "_fused_rms_norm",   "native_batch_norm", "cudnn_batch_norm",
                                          "native_group_norm", "native_dropout",    "hardtanh"};
constexpr std::string_view kWhole[] = {
    "linalg_vector_norm", "hardtanh_",   "log_sigmoid_forward", "log_sigmoid_backward", "masked_fill_", "cat", "flip",
    "constant_pad_nd",    "_fused_sgd_", "_fused_adam_",        "_fused_adamw_"};
/// Of whose arguments some are read in part, or not at all; what they give is written whole.
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
/// What they change has another content before, which they do not read.
constexpr std::string_view kOverwrites[] = {"copy_",      "fill_",   "zero_",          "normal_",       "uniform_",
                                            "bernoulli_", "random_", "_foreach_copy_", "_foreach_zero_"};
constexpr std::string_view kNamespace = "aten::", kForeach = "_foreach_";

bool isOneOf(std::string_view name, const auto& names) { return std::ranges::find(names, name) != std::end(names); }

bool isEitherWay(llvm::StringRef name) {
  if (!name.consume_back("_backward")) name.consume_back("_backward_data");
  return isOneOf(name, kBothWays);
}

/// Both of a foreach operator's ways: in one launch for all tensors, or one tensor after the other.
bool readsWhole(std::string_view name, const OperatorCall& call) {
  return isOneOf(name, kReductions) || isEitherWay(name) || isOneOf(name, kWhole) || isOneOf(name, kOverwrites) ||
         name.find(kForeach) != std::string_view::npos || multiplies(call.name()) ||
         call.handle().hasTag(at::Tag::pointwise);
}

/// An argument that this call has no use for.
bool isUnused(std::string_view name, const OperatorCall& call, const std::string& argument) {
  if (name == "convolution_backward") {
    const auto mask = call.get("output_mask").toBoolList();
    return (argument == "weight" && !mask.get(0)) || (argument == "input" && !mask.get(1));
  }
  const c10::IValue beta = argument == "self" ? call.get("beta") : c10::IValue();
  return beta.isScalar() && beta.toScalar().toDouble() == 0;
}

/// The schema of fused optimisers says that they may write gradients, which they do to unscale them.
bool isWritten(std::string_view name, const c10::Argument& argument) {
  const bool may = argument.alias_info() && argument.alias_info()->isWrite();
  return may && !(name.starts_with("_fused_") && argument.name() == "grads");
}

/// Bytes that a tensor on such a device reaches, 0 on another: an element that lies in several places counts once.
double bytesOf(const at::Tensor& tensor, c10::DeviceType device) {
  if (!tensor.defined() || tensor.device().type() != device || tensor.layout() != at::kStrided || !tensor.has_storage())
    return 0;
  auto bytes = static_cast<double>(tensor.element_size());
  for (int64_t d = 0; d < tensor.dim(); ++d)
    if (tensor.stride(d) != 0 || tensor.size(d) == 0) bytes *= static_cast<double>(tensor.size(d));
  return std::min(bytes, static_cast<double>(tensor.storage().nbytes()));
}

/// Of what lies on such devices. Operators of which it is not known that they read their arguments whole, and those
/// that only look at shapes, read nothing.
OperatorBytes bytesOf(const OperatorCall& call, c10::DeviceType device) {
  OperatorBytes result;
  if (!call.name().starts_with(kNamespace)) return result;
  const std::string_view name = call.name().substr(kNamespace.size());
  const bool whole = readsWhole(name, call);
  result.known = whole || isOneOf(name, kResultsOnly);
  if (!result.known) return result;
  std::set<const void*> places;
  for (size_t i = 0; i < call.count(); ++i) {
    const c10::Argument& argument = call.arguments()[i];
    const bool written = isWritten(name, argument);
    const bool read = whole && !argument.is_out() && !(written && isOneOf(name, kOverwrites)) &&
                      !isUnused(name, call, argument.name());
    for (const at::Tensor& tensor : tensorsIn(call.value(i))) {
      if (written) result.written += bytesOf(tensor, device);
      if (read && tensor.has_storage() && places.insert(tensor.const_data_ptr()).second)
        result.read += bytesOf(tensor, device);
    }
  }
  return result;
}

/// What a known operator leaves in results of its own, those that are none of its arguments.
double resultBytes(const c10::OperatorHandle& handle, const std::vector<c10::IValue>& results, c10::DeviceType device) {
  const auto& returns = handle.schema().returns();
  double bytes = 0;
  for (size_t i = 0; i < std::min(returns.size(), results.size()); ++i)
    if (!returns[i].alias_info())
      for (const at::Tensor& tensor : tensorsIn(results[i])) bytes += bytesOf(tensor, device);
  return bytes;
}

struct Observation {
  c10::DeviceType device = c10::kCPU;
  double cache = 0;
  std::mutex mutex = {};  // guards what follows
  OperatorWork work = {};
};
std::atomic<Observation*> observing{nullptr};  // callbacks are plain functions

/// A known operator between its beginning and its end in this thread.
struct Frame final : at::ObserverContext {
  explicit Frame(c10::OperatorHandle of) : handle(std::move(of)) {}
  c10::OperatorHandle handle;
  Frame* outer = nullptr;
  std::optional<OperatorFlops> flops;
  OperatorBytes bytes;
  bool superseded = false;  // autocast calls the operator again, with what it has cast
};

thread_local Frame* innermost = nullptr;

double elementsOfFirst(const std::vector<c10::IValue>& results) {
  if (results.empty() || !results.front().isTensor()) return 0;
  return static_cast<double>(results.front().toTensor().numel());
}

}  // namespace

OperatorWork operatorWork(c10::DeviceType device, size_t cache_bytes, const std::function<void()>& run) {
  assert(!observing.load() && "one observation at a time");
  Observation observation{device, static_cast<double>(cache_bytes)};
  observing = &observation;
  const auto begin = [](const at::RecordFunction& function) -> std::unique_ptr<at::ObserverContext> {
    Observation* state = observing.load();
    const auto name = function.operator_name();
    if (!state || !name || (innermost && innermost->handle.operator_name().name != name->name)) return nullptr;
    auto handle = c10::Dispatcher::singleton().findOp(*name);
    if (!handle) return nullptr;
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
