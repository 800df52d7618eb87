// The one tool that CUPTI serves at a time, and what it answers to everybody: names of its numbers among that.

#include <cupti.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <iterator>
#include <unordered_map>

#include "nullgpu/core/activity.h"
#include "nullgpu/core/cards.h"
#include "nullgpu/core/configuration.h"
#include "nullgpu/core/stream.h"
#include "nullgpu/cupti/call.h"

struct CUpti_Subscriber_st {};

namespace nullgpu::cupti {
namespace {

CUpti_Subscriber_st the_subscriber;
std::atomic<bool> subscribed{false};

bool isSubscriber(CUpti_SubscriberHandle handle) { return handle == &the_subscriber && subscribed; }

/// Callbacks at calls are not made: profilers of kernels and copies read records. Those of contexts, modules and NVTX
/// may be asked for, since nothing of theirs happens once a profiler can ask.
CUptiResult mayCall(CUpti_CallbackDomain domain, uint32_t enable) {
  if (domain <= CUPTI_CB_DOMAIN_INVALID || domain >= CUPTI_CB_DOMAIN_SIZE) return CUPTI_ERROR_INVALID_PARAMETER;
  const bool calls = domain == CUPTI_CB_DOMAIN_RUNTIME_API || domain == CUPTI_CB_DOMAIN_DRIVER_API;
  return calls && enable ? CUPTI_ERROR_NOT_SUPPORTED : CUPTI_SUCCESS;
}

struct Name {
  uint32_t number;
  const char* text;
};
#include "names.inc"

template <size_t Count>
const char* find(const Name (&names)[Count], uint32_t number) {
  const auto found = std::ranges::find(names, number, &Name::number);
  return found == std::end(names) ? nullptr : found->text;
}

/// Without the version that CUPTI writes behind it: "cudaMemcpyAsync" for "cudaMemcpyAsync_v3020".
std::string_view withoutVersion(std::string_view name) {
  const size_t mark = name.rfind("_v");
  if (mark == std::string_view::npos || mark + 2 == name.size()) return name;
  return std::ranges::all_of(name.substr(mark + 2), [](unsigned char c) { return std::isdigit(c); })
             ? name.substr(0, mark)
             : name;
}

using Callbacks = std::unordered_map<std::string_view, Callback>;

/// Of names that stand there more than once the last is the one of today's CUDA.
Callbacks callbacks() {
  Callbacks all;
  for (const Name& name : kDriverNames)
    all.insert_or_assign(withoutVersion(name.text), Callback{CUPTI_CB_DOMAIN_DRIVER_API, name.number});
  for (const Name& name : kRuntimeNames)
    all.insert_or_assign(withoutVersion(name.text), Callback{CUPTI_CB_DOMAIN_RUNTIME_API, name.number});
  return all;
}

}  // namespace

std::optional<Callback> callbackOf(std::string_view function) {
  static const Callbacks& all = *new Callbacks(callbacks());
  const auto found = all.find(withoutVersion(function));
  return found == all.end() ? std::nullopt : std::optional(found->second);
}

CUptiResult availability() {
  if (visibleCards().empty()) return CUPTI_ERROR_NOT_INITIALIZED;
  return configuration().faults.cupti ? CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED : CUPTI_SUCCESS;
}

}  // namespace nullgpu::cupti

using namespace nullgpu;
using namespace nullgpu::cupti;

extern "C" {

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* handle, CUpti_CallbackFunc callback, void*) {
  if (!handle || !callback) return CUPTI_ERROR_INVALID_PARAMETER;
  if (const CUptiResult result = availability(); result != CUPTI_SUCCESS) return result;
  if (subscribed.exchange(true)) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  *handle = &the_subscriber;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle handle) {
  if (!isSubscriber(handle)) return CUPTI_ERROR_INVALID_PARAMETER;
  subscribed = false;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiFinalize() {
  disableAll();
  flush();
  subscribed = false;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain,
                                CUpti_CallbackId) {
  return isSubscriber(handle) ? mayCall(domain, enable) : CUPTI_ERROR_INVALID_PARAMETER;
}
CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain) {
  return isSubscriber(handle) ? mayCall(domain, enable) : CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult cuptiGetVersion(uint32_t* version) { return give(version, CUPTI_API_VERSION); }

/// Of the calling thread's context; no other has a handle here.
CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t* device) {
  if (device && context) return CUPTI_ERROR_INVALID_CONTEXT;
  return give(device, currentCard());
}

CUptiResult cuptiGetTimestamp(uint64_t* time) { return give(time, now()); }

/// Attributes change nothing: buffers here are the profiler's own.
CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute, size_t* size, void* value) {
  return size && value ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

/// "cudaLaunchKernel_v7000" of the runtime's domain, "cuLaunchKernel" of the driver's.
CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t number, const char** name) {
  const char* known = domain == CUPTI_CB_DOMAIN_RUNTIME_API  ? find(kRuntimeNames, number)
                      : domain == CUPTI_CB_DOMAIN_DRIVER_API ? find(kDriverNames, number)
                                                             : nullptr;
  return known ? give(name, known) : CUPTI_ERROR_INVALID_PARAMETER;
}
CUptiResult cuptiGetResultString(CUptiResult result, const char** text) {
  const char* known = find(kResultNames, static_cast<uint32_t>(result));
  return known ? give(text, known) : CUPTI_ERROR_INVALID_PARAMETER;
}

}  // extern "C"
