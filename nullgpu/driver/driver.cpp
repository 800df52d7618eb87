// Devices, primary contexts and the names of errors. A card's context is there once this process holds memory of it.

#include <cuda.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "nullgpu/core/cards.h"
#include "nullgpu/core/configuration.h"
#include "nullgpu/core/stream.h"

// Its address is the context's name.
struct CUctx_st {};

namespace {

const std::vector<unsigned>& cards() { return nullgpu::visibleCards(); }

bool known(CUdevice device) { return device >= 0 && static_cast<size_t>(device) < cards().size(); }

bool opened(CUdevice device) {
  const std::vector<nullgpu::CardProcess> processes = nullgpu::cardState(cards()[device]).processes;
  return std::any_of(processes.begin(), processes.end(), [](const auto& process) { return process.pid == getpid(); });
}

CUcontext contextOf(CUdevice device) {
  static std::vector<CUctx_st> contexts(cards().size());
  return &contexts[device];
}

}  // namespace

extern "C" {

CUresult cuInit(unsigned) { return cards().empty() ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS; }

CUresult cuDeviceGetCount(int* count) {
  *count = static_cast<int>(cards().size());
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  if (!known(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  if (!known(device)) return CUDA_ERROR_INVALID_DEVICE;
  *flags = 0;
  *active = opened(device) ? 1 : 0;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  if (!known(device)) return CUDA_ERROR_INVALID_DEVICE;
  *context = contextOf(device);
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext* context) {
  const auto device = static_cast<CUdevice>(nullgpu::currentCard());
  *context = known(device) && opened(device) ? contextOf(device) : nullptr;
  return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char** name) {
  switch (error) {
    case CUDA_SUCCESS:
      *name = "CUDA_SUCCESS";
      return CUDA_SUCCESS;
    case CUDA_ERROR_NO_DEVICE:
      *name = "CUDA_ERROR_NO_DEVICE";
      return CUDA_SUCCESS;
    case CUDA_ERROR_INVALID_DEVICE:
      *name = "CUDA_ERROR_INVALID_DEVICE";
      return CUDA_SUCCESS;
    default:
      *name = nullptr;
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult cuGetErrorString(CUresult error, const char** text) {
  switch (error) {
    case CUDA_SUCCESS:
      *text = "no error";
      return CUDA_SUCCESS;
    case CUDA_ERROR_NO_DEVICE:
      *text = "no CUDA-capable device is detected";
      return CUDA_SUCCESS;
    case CUDA_ERROR_INVALID_DEVICE:
      *text = "invalid device ordinal";
      return CUDA_SUCCESS;
    default:
      *text = nullptr;
      return CUDA_ERROR_INVALID_VALUE;
  }
}

}  // extern "C"
