// Primary contexts and what errors are called. A card's context is there once this process holds memory of it.

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <vector>

#include "nullgpu/core/cards.h"
#include "nullgpu/core/machine.h"
#include "nullgpu/core/stream.h"

// Its address is the context's name.
struct CUctx_st {};

namespace {

const std::vector<unsigned>& cards() { return nullgpu::visibleCards(); }

bool known(CUdevice device) { return device >= 0 && static_cast<size_t>(device) < cards().size(); }

/// torch asks at every operator, so the answer is kept: a context that is there stays as long as its process, which a
/// fork is not.
bool opened(CUdevice device) {
  static std::vector<std::atomic<pid_t>> owners(cards().size());
  const pid_t self = getpid();
  if (owners[device] == self) return true;
  const std::vector<nullgpu::CardProcess> processes = nullgpu::machine().state(cards()[device]).processes;
  const bool found = std::ranges::find(processes, self, &nullgpu::CardProcess::pid) != processes.end();
  if (found) owners[device] = self;
  return found;
}

CUcontext contextOf(CUdevice device) {
  static std::vector<CUctx_st> contexts(cards().size());
  return &contexts[device];
}

}  // namespace

extern "C" {

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  if (!known(device)) return CUDA_ERROR_INVALID_DEVICE;
  *flags = 0;
  *active = opened(device) ? 1 : 0;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext* context) {
  const auto device = static_cast<CUdevice>(nullgpu::currentCard());
  *context = known(device) && opened(device) ? contextOf(device) : nullptr;
  return CUDA_SUCCESS;
}

/// The runtime makes a card's context with its first memory; a thread that names it means its card.
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  if (!known(device)) return CUDA_ERROR_INVALID_DEVICE;
  *context = contextOf(device);
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context) {
  for (size_t device = 0; device < cards().size(); ++device)
    if (context == contextOf(static_cast<CUdevice>(device)))
      return static_cast<CUresult>(cudaSetDevice(static_cast<int>(device)));
  return CUDA_ERROR_INVALID_CONTEXT;
}

/// Kernels print nothing and need no stack.
CUresult cuCtxGetLimit(size_t* value, CUlimit) {
  *value = 0;
  return CUDA_SUCCESS;
}
CUresult cuCtxSetLimit(CUlimit, size_t) { return CUDA_SUCCESS; }

CUresult cuGetErrorString(CUresult error, const char** text) {
  *text = error == CUDA_SUCCESS ? "no error" : error == CUDA_ERROR_INVALID_DEVICE ? "invalid device ordinal" : nullptr;
  return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // extern "C"
