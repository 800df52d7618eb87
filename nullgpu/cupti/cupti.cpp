// The one tool that CUPTI serves at a time, and what it answers to everybody.

#include <cupti.h>

#include <atomic>

#include "nullgpu/core/activity.h"
#include "nullgpu/core/cards.h"
#include "nullgpu/core/configuration.h"
#include "nullgpu/core/stream.h"
#include "nullgpu/cupti/call.h"

using namespace nullgpu;
using namespace nullgpu::cupti;

struct CUpti_Subscriber_st {};

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

}  // namespace

CUptiResult nullgpu::cupti::availability() {
  if (visibleCards().empty()) return CUPTI_ERROR_NOT_INITIALIZED;
  return configuration().faults.cupti ? CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED : CUPTI_SUCCESS;
}

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

}  // extern "C"
