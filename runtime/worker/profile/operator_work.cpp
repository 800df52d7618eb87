#include "runtime/worker/profile/operator_work.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <mutex>
#include <optional>
#include <utility>

#include "runtime/worker/profile/operator_bytes.h"
#include "runtime/worker/profile/operator_flops.h"

namespace expc::profile {

struct WorkObserver::State {
  c10::DeviceType device = c10::kCPU;
  double cache = 0;
  std::mutex mutex;
  OperatorWork work;
  at::CallbackHandle handle = at::INVALID_CALLBACK_HANDLE;
};

namespace {

std::atomic<void*> observing{nullptr};  // callbacks are plain functions

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

WorkObserver::WorkObserver(c10::DeviceType device, size_t cache_bytes) : state_(std::make_unique<State>()) {
  assert(!observing.load() && "one observer at a time");
  state_->device = device;
  state_->cache = static_cast<double>(cache_bytes);
  observing = state_.get();
  const auto begin = [](const at::RecordFunction& function) -> std::unique_ptr<at::ObserverContext> {
    auto* state = static_cast<State*>(observing.load());
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
    auto* state = static_cast<State*>(observing.load());
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
  state_->handle = at::addGlobalCallback(
      at::RecordFunctionCallback(begin, end).needsInputs(true).needsOutputs(true).scopes({at::RecordScope::FUNCTION}));
}

WorkObserver::~WorkObserver() { take(); }

OperatorWork WorkObserver::take() {
  if (state_->handle != at::INVALID_CALLBACK_HANDLE) at::removeCallback(state_->handle);
  state_->handle = at::INVALID_CALLBACK_HANDLE;
  observing = nullptr;
  const std::lock_guard lock(state_->mutex);
  return state_->work;
}

}  // namespace expc::profile
