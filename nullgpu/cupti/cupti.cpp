// CUPTI's subscription (one tool at a time), the questions that any tool may ask, and the names
// behind CUPTI's numbers. recorder.cpp decides what is recorded, buffers.cpp where it goes.

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

/// Whether callbacks of a domain can be enabled. Callbacks at calls are not implemented, since
/// profilers of kernels and copies use records. Contexts, modules and NVTX may be enabled: nothing
/// of theirs happens any more once a profiler can ask.
CUptiResult mayCall(CUpti_CallbackDomain domain, uint32_t enable) {
  if (domain <= CUPTI_CB_DOMAIN_INVALID || domain >= CUPTI_CB_DOMAIN_SIZE) return CUPTI_ERROR_INVALID_PARAMETER;
  const bool calls = domain == CUPTI_CB_DOMAIN_RUNTIME_API || domain == CUPTI_CB_DOMAIN_DRIVER_API;
  return calls && enable ? CUPTI_ERROR_NOT_SUPPORTED : CUPTI_SUCCESS;
}

/// A number of CUPTI's with its name. The build generates the tables from CUPTI's headers
/// (names.cmake).
struct Name {
  uint32_t number;
  const char* text;
};
#include "names.inc"

/// The name of a number; null if there is none.
template <size_t Count>
const char* find(const Name (&names)[Count], uint32_t number) {
  const auto found = std::ranges::find(names, number, &Name::number);
  return found == std::end(names) ? nullptr : found->text;
}

/// A function's name without the version that CUPTI appends: "cudaMemcpyAsync" for
/// "cudaMemcpyAsync_v3020".
std::string_view withoutVersion(std::string_view name) {
  const size_t mark = name.rfind("_v");
  if (mark == std::string_view::npos || mark + 2 == name.size()) return name;
  return std::ranges::all_of(name.substr(mark + 2), [](unsigned char c) { return std::isdigit(c); })
             ? name.substr(0, mark)
             : name;
}

using Callbacks = std::unordered_map<std::string_view, Callback>;

/// All functions by name. Where versions of a function differ, the last entry is the one of today's
/// CUDA and wins.
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

/// The card of the calling thread; other contexts have no handle here.
CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t* device) {
  if (device && context) return CUPTI_ERROR_INVALID_CONTEXT;
  return give(device, currentCard());
}

CUptiResult cuptiGetTimestamp(uint64_t* time) { return give(time, now()); }

/// Attributes have no effect: they tune buffers that CUPTI would allocate, and here the profiler
/// owns all.
CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute, size_t* size, void* value) {
  return size && value ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

/// "cudaLaunchKernel_v7000" in the runtime's domain, "cuLaunchKernel" in the driver's.
CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t number, const char** name) {
  const char* known = domain == CUPTI_CB_DOMAIN_RUNTIME_API  ? find(kRuntimeNames, number)
                      : domain == CUPTI_CB_DOMAIN_DRIVER_API ? find(kDriverNames, number)
                                                             : nullptr;
  return known ? give(name, known) : CUPTI_ERROR_INVALID_PARAMETER;
}
CUptiResult cuptiGetResultString(CUptiResult result, const char** text) {
  const char* known = find(kResultNames, uint32_t(result));
  return known ? give(text, known) : CUPTI_ERROR_INVALID_PARAMETER;
}

}  // extern "C"
