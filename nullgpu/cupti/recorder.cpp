#include "nullgpu/cupti/recorder.h"

#include <cupti_driver_cbid.h>
#include <cupti_runtime_cbid.h>

#include <algorithm>
#include <array>

#include "nullgpu/cupti/buffers.h"
#include "nullgpu/cupti/records.h"

namespace nullgpu::cupti {
namespace {

/// The numbers that a profiler has given to what this thread is about to call, the last one on top.
thread_local std::array<std::vector<uint64_t>, CUPTI_EXTERNAL_CORRELATION_KIND_SIZE> stacks;

bool isKind(CUpti_ExternalCorrelationKind kind) {
  return kind > CUPTI_EXTERNAL_CORRELATION_KIND_INVALID && kind < CUPTI_EXTERNAL_CORRELATION_KIND_SIZE;
}

}  // namespace

Recorder::Recorder()
    : kinds_(CUPTI_ACTIVITY_KIND_COUNT),
      runtime_(CUPTI_RUNTIME_TRACE_CBID_SIZE),
      driver_(CUPTI_DRIVER_TRACE_CBID_SIZE) {}

CUptiResult Recorder::enable(CUpti_ActivityKind kind, bool on) {
  if (kind <= CUPTI_ACTIVITY_KIND_INVALID || kind >= CUPTI_ACTIVITY_KIND_COUNT) return CUPTI_ERROR_INVALID_KIND;
  const std::lock_guard lock(mutex_);
  constexpr auto kSerial = CUPTI_ACTIVITY_KIND_KERNEL, kConcurrent = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  if (on && ((kind == kSerial && asks(kConcurrent)) || (kind == kConcurrent && asks(kSerial))))
    return CUPTI_ERROR_NOT_COMPATIBLE;
  kinds_[kind] = on;
  const auto all = [on](Flags& calls) { std::ranges::for_each(calls, [on](auto& call) { call = on; }); };
  if (kind == CUPTI_ACTIVITY_KIND_RUNTIME) all(runtime_);
  if (kind == CUPTI_ACTIVITY_KIND_DRIVER) all(driver_);
  listenIfAsked();
  return CUPTI_SUCCESS;
}

CUptiResult Recorder::enable(Callback callback, bool on) {
  Flags* calls = callsOf(callback.domain);
  if (!calls || callback.number == 0 || callback.number >= calls->size()) return CUPTI_ERROR_INVALID_PARAMETER;
  const std::lock_guard lock(mutex_);
  (*calls)[callback.number] = on;
  listenIfAsked();
  return CUPTI_SUCCESS;
}

void Recorder::disableAll() {
  const std::lock_guard lock(mutex_);
  for (Flags* flags : {&kinds_, &runtime_, &driver_}) std::ranges::for_each(*flags, [](auto& flag) { flag = false; });
  listenIfAsked();
}

Recorder::Flags* Recorder::callsOf(CUpti_CallbackDomain domain) {
  if (domain == CUPTI_CB_DOMAIN_RUNTIME_API) return &runtime_;
  if (domain == CUPTI_CB_DOMAIN_DRIVER_API) return &driver_;
  return nullptr;
}

void Recorder::listenIfAsked() {
  bool asked = false;
  for (const Flags* flags : {&kinds_, &runtime_, &driver_})
    asked = asked || std::ranges::any_of(*flags, [](const auto& flag) { return flag.load(); });
  listen(asked ? this : nullptr);
}

void Recorder::happened(const Activity& activity) {
  switch (activity.work) {
    case Work::Kernel:
      if (asks(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL))
        return buffers().add(kernelRecord(activity, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
      if (asks(CUPTI_ACTIVITY_KIND_KERNEL)) buffers().add(kernelRecord(activity, CUPTI_ACTIVITY_KIND_KERNEL));
      return;
    case Work::PeerToPeer:
      if (asks(CUPTI_ACTIVITY_KIND_MEMCPY2)) buffers().add(peerCopyRecord(activity));
      return;
    case Work::Set:
      if (asks(CUPTI_ACTIVITY_KIND_MEMSET)) buffers().add(setRecord(activity));
      return;
    case Work::HostToDevice:
    case Work::DeviceToHost:
    case Work::DeviceToDevice:
      if (asks(CUPTI_ACTIVITY_KIND_MEMCPY)) buffers().add(copyRecord(activity));
      return;
  }
}

void Recorder::happened(const Call& call) {
  const auto callback = callbackOf(call.name);
  if (!callback || !(*callsOf(callback->domain))[callback->number]) return;
  if (asks(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION)) {
    // CUPTI writes these before the record of the call.
    for (size_t kind = 0; kind < stacks.size(); ++kind)
      if (!stacks[kind].empty())
        buffers().add(
            CUpti_ActivityExternalCorrelation{.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
                                              .externalKind = static_cast<CUpti_ExternalCorrelationKind>(kind),
                                              .externalId = stacks[kind].back(),
                                              .correlationId = call.correlation,
                                              .reserved = 0});
  }
  buffers().add(callRecord(call, *callback));
}

Recorder& recorder() {
  static Recorder& all = *new Recorder;
  return all;
}

}  // namespace nullgpu::cupti

extern "C" {

CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t id) {
  if (!nullgpu::cupti::isKind(kind)) return CUPTI_ERROR_INVALID_PARAMETER;
  nullgpu::cupti::stacks[kind].push_back(id);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t* id) {
  if (!nullgpu::cupti::isKind(kind)) return CUPTI_ERROR_INVALID_PARAMETER;
  auto& stack = nullgpu::cupti::stacks[kind];
  if (stack.empty()) return CUPTI_ERROR_QUEUE_EMPTY;
  if (id) *id = stack.back();
  stack.pop_back();
  return CUPTI_SUCCESS;
}

}  // extern "C"
