// Memory and events of other processes: the null GPU has none to share.

#include "nullgpu/cudart/call.h"

extern "C" {

NULLGPU_CALL(cudaIpcGetEventHandle, (cudaIpcEventHandle_t*, cudaEvent_t), cudaErrorNotSupported)
NULLGPU_CALL(cudaIpcOpenEventHandle, (cudaEvent_t*, cudaIpcEventHandle_t), cudaErrorNotSupported)
NULLGPU_CALL(cudaIpcGetMemHandle, (cudaIpcMemHandle_t*, void*), cudaErrorNotSupported)
NULLGPU_CALL(cudaIpcOpenMemHandle, (void**, cudaIpcMemHandle_t, unsigned), cudaErrorNotSupported)
NULLGPU_CALL(cudaIpcCloseMemHandle, (void*), cudaErrorNotSupported)

}  // extern "C"
