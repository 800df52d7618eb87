// CUPTI's activity interface.

#include "nullgpu/core/activity.h"

#include <cupti.h>

#include "nullgpu/cupti/availability.h"
#include "nullgpu/cupti/buffers.h"
#include "nullgpu/cupti/recorder.h"
#include "nullgpu/cupti/records.h"

using namespace nullgpu;
using namespace nullgpu::cupti;

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
CUptiResult cuptiActivityFlushPeriod(uint32_t milliseconds) {
  buffers().setPeriod(milliseconds);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNextRecord(uint8_t* buffer, size_t filled, CUpti_Activity** record) {
  if (!buffer || !record) return CUPTI_ERROR_INVALID_PARAMETER;
  return nextRecord(buffer, filled, record);
}
CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* dropped) {
  return dropped ? give(dropped, buffers().takeDropped()) : CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc clock) {
  if (!clock) return CUPTI_ERROR_INVALID_PARAMETER;
  setClock(clock);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetTimestamp(uint64_t* time) { return give(time, now()); }

/// Attributes change nothing: buffers here are the profiler's own.
CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute, size_t* size, void* value) {
  return size && value ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

}  // extern "C"
