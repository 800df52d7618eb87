#pragma once

// Events: points in streams that other streams and the host wait for.

#include <driver_types.h>

namespace nullgpu {

/// @param flags cudaEventDisableTiming and others.
cudaError_t createEvent(unsigned flags, cudaEvent_t* event);
cudaError_t destroyEvent(cudaEvent_t event);
/// The event is the point behind all that the stream holds at this moment.
/// @param flags cudaEventRecordDefault or cudaEventRecordExternal.
cudaError_t recordEvent(cudaEvent_t event, cudaStream_t stream, unsigned flags);
/// What is queued to the stream from here on comes after the event as it was recorded last.
/// @param flags cudaEventWaitDefault or cudaEventWaitExternal.
cudaError_t waitForEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
cudaError_t queryEvent(cudaEvent_t event);
cudaError_t synchronizeEvent(cudaEvent_t event);
/// Milliseconds between the moments at which the cards reached both.
cudaError_t elapsed(float* milliseconds, cudaEvent_t begin, cudaEvent_t end);

}  // namespace nullgpu
