// CUPTI's activity interface.

#include "nullgpu/core/activity.h"

#include <cupti.h>

#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "nullgpu/cupti/availability.h"
#include "nullgpu/cupti/buffers.h"
#include "nullgpu/cupti/clock.h"
#include "nullgpu/cupti/external.h"
#include "nullgpu/cupti/recorder.h"

using namespace nullgpu;
using namespace nullgpu::cupti;

namespace {

/// Attributes that a profiler sets are kept for it, and change nothing: buffers here are the profiler's own.
struct Attributes {
  std::mutex mutex;
  std::map<CUpti_ActivityAttribute, std::vector<uint8_t>> values;
};
Attributes& attributes() {
  static auto& all = *new Attributes;
  return all;
}

}  // namespace

extern "C" {

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  if (const CUptiResult result = availability(); result != CUPTI_SUCCESS) return result;
  return recorder().enable(kind, true);
}
CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) { return recorder().enable(kind, false); }

CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId function, uint8_t on) {
  return recorder().enable(Callback{CUPTI_CB_DOMAIN_RUNTIME_API, function}, on != 0);
}
CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId function, uint8_t on) {
  return recorder().enable(Callback{CUPTI_CB_DOMAIN_DRIVER_API, function}, on != 0);
}
/// Events are no records here, with their time or without.
CUptiResult cuptiActivityEnableCudaEventDeviceTimestamps(uint8_t) { return CUPTI_SUCCESS; }

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc complete) {
  if (!request || !complete) return CUPTI_ERROR_INVALID_PARAMETER;
  buffers().setCallbacks(request, complete);
  return CUPTI_SUCCESS;
}

/// Only what is done is recorded, so that a flush by force is no other.
CUptiResult cuptiActivityFlushAll(uint32_t) {
  buffers().flush();
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityFlush(CUcontext, uint32_t, uint32_t flag) { return cuptiActivityFlushAll(flag); }
CUptiResult cuptiActivityFlushPeriod(uint32_t milliseconds) {
  buffers().setPeriod(milliseconds);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNextRecord(uint8_t* buffer, size_t filled, CUpti_Activity** record) {
  if (!buffer || !record) return CUPTI_ERROR_INVALID_PARAMETER;
  return nextRecord(buffer, filled, record);
}
CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* dropped) {
  if (!dropped) return CUPTI_ERROR_INVALID_PARAMETER;
  *dropped = buffers().takeDropped();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t id) {
  return pushExternal(kind, id);
}
CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t* id) {
  return popExternal(kind, id);
}

CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc clock) {
  if (!clock) return CUPTI_ERROR_INVALID_PARAMETER;
  setClock(clock);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetTimestamp(uint64_t* time) {
  if (!time) return CUPTI_ERROR_INVALID_PARAMETER;
  *time = now();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute, size_t* size, void* value) {
  if (!size || !value) return CUPTI_ERROR_INVALID_PARAMETER;
  const std::lock_guard lock(attributes().mutex);
  const auto* bytes = static_cast<const uint8_t*>(value);
  attributes().values[attribute].assign(bytes, bytes + *size);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityGetAttribute(CUpti_ActivityAttribute attribute, size_t* size, void* value) {
  if (!size || !value) return CUPTI_ERROR_INVALID_PARAMETER;
  const std::lock_guard lock(attributes().mutex);
  const auto found = attributes().values.find(attribute);
  if (found == attributes().values.end()) return CUPTI_ERROR_INVALID_PARAMETER;
  if (*size < found->second.size()) return CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
  *size = found->second.size();
  std::memcpy(value, found->second.data(), *size);
  return CUPTI_SUCCESS;
}

}  // extern "C"
