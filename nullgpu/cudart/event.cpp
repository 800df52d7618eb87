// Events.

#include "nullgpu/core/event.h"

#include "nullgpu/cudart/call.h"

using namespace nullgpu;

extern "C" {

NULLGPU_CALL(cudaEventCreate, (cudaEvent_t * event), createEvent(cudaEventDefault, event))
NULLGPU_CALL(cudaEventCreateWithFlags, (cudaEvent_t * event, unsigned flags), createEvent(flags, event))
NULLGPU_CALL(cudaEventDestroy, (cudaEvent_t event), destroyEvent(event))
NULLGPU_CALL(cudaEventRecord, (cudaEvent_t event, cudaStream_t stream),
             recordEvent(event, stream, cudaEventRecordDefault))
NULLGPU_CALL(cudaEventRecordWithFlags, (cudaEvent_t event, cudaStream_t stream, unsigned flags),
             recordEvent(event, stream, flags))
NULLGPU_CALL(cudaStreamWaitEvent, (cudaStream_t stream, cudaEvent_t event, unsigned flags),
             waitForEvent(stream, event, flags))
NULLGPU_CALL(cudaEventQuery, (cudaEvent_t event), queryEvent(event))
NULLGPU_CALL(cudaEventSynchronize, (cudaEvent_t event), synchronizeEvent(event))
NULLGPU_CALL(cudaEventElapsedTime, (float* milliseconds, cudaEvent_t begin, cudaEvent_t end),
             elapsed(milliseconds, begin, end))

}  // extern "C"
