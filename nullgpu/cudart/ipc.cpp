// Memory and events of other processes: the null GPU has none to share.

#include "nullgpu/cudart/call.h"

using nullgpu::unsupported;

extern "C" {

cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t*, cudaEvent_t) { return unsupported("cudaIpcGetEventHandle"); }
cudaError_t cudaIpcOpenEventHandle(cudaEvent_t*, cudaIpcEventHandle_t) { return unsupported("cudaIpcOpenEventHandle"); }
cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t*, void*) { return unsupported("cudaIpcGetMemHandle"); }
cudaError_t cudaIpcOpenMemHandle(void**, cudaIpcMemHandle_t, unsigned) { return unsupported("cudaIpcOpenMemHandle"); }
cudaError_t cudaIpcCloseMemHandle(void*) { return unsupported("cudaIpcCloseMemHandle"); }

}  // extern "C"
