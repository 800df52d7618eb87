// The driver's functions that torch, the runtime and Triton look up: primary contexts, texts of
// errors, and kernels loaded as images at run time. A card's context counts as present once this
// process holds memory of the card. Images are not read: every name is a function of any image.

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "nullgpu/core/cards.h"
#include "nullgpu/core/machine.h"
#include "nullgpu/core/stream.h"

// A context is identified by its address alone.
struct CUctx_st {};
/// A loaded image. All share one address, since nothing is known of any.
struct CUmod_st {};
/// A function, identified by its name. It lives as long as the process, because names of launches
/// must.
struct CUfunc_st {
  std::string name;
  bool operator<(const CUfunc_st& other) const { return name < other.name; }
};

namespace {

const std::vector<unsigned>& cards() { return nullgpu::visibleCards(); }

/// Whether this process has a context on the card. torch asks at every operator, so a yes is kept:
/// contexts stay as long as their process. The pid is kept with it because a fork has no contexts.
bool opened(CUdevice device) {
  static std::vector<std::atomic<pid_t>> owners(cards().size());
  const pid_t self = getpid();
  if (owners[device] == self) return true;
  const std::vector<nullgpu::CardProcess> processes = nullgpu::machine().state(cards()[device]).processes;
  const bool found = std::ranges::find(processes, self, &nullgpu::CardProcess::pid) != processes.end();
  if (found) owners[device] = self;
  return found;
}

/// The context of a card: an address in a table.
CUcontext contextOf(CUdevice device) {
  static std::vector<CUctx_st> contexts(cards().size());
  return &contexts[device];
}

CUmod_st module;

/// The function of that name, made at the first use.
CUfunction functionOf(const char* name) {
  static std::mutex mutex;
  static auto* functions = new std::set<CUfunc_st>;
  const std::lock_guard lock(mutex);
  return const_cast<CUfunction>(&*functions->insert({name}).first);
}

}  // namespace

extern "C" {

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  if (!nullgpu::isCard(device)) return CUDA_ERROR_INVALID_DEVICE;
  *flags = 0;
  *active = opened(device) ? 1 : 0;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext* context) {
  const auto device = static_cast<CUdevice>(nullgpu::currentCard());
  *context = nullgpu::isCard(device) && opened(device) ? contextOf(device) : nullptr;
  return CUDA_SUCCESS;
}

/// A context is made by the runtime with the first memory; retaining only names it.
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  if (!nullgpu::isCard(device)) return CUDA_ERROR_INVALID_DEVICE;
  *context = contextOf(device);
  return CUDA_SUCCESS;
}

/// Selects the card whose context it is, since a thread's context and its card are one thing here.
CUresult cuCtxSetCurrent(CUcontext context) {
  for (size_t device = 0; device < cards().size(); ++device)
    if (context == contextOf(static_cast<CUdevice>(device))) return static_cast<CUresult>(cudaSetDevice(int(device)));
  return CUDA_ERROR_INVALID_CONTEXT;
}

/// Limits are 0: kernels print nothing and need no stack.
CUresult cuCtxGetLimit(size_t* value, CUlimit) {
  *value = 0;
  return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char** text) {
  *text = cudaGetErrorName(static_cast<cudaError_t>(error));
  return CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult error, const char** text) {
  *text = error == CUDA_SUCCESS ? "no error" : error == CUDA_ERROR_INVALID_DEVICE ? "invalid device ordinal" : nullptr;
  return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/// Asks the runtime for the number of cards, so that a process that may not use them gets its
/// error.
CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  int count = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count)) return static_cast<CUresult>(error);
  if (!device || ordinal < 0 || ordinal >= count) return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int* count) { return static_cast<CUresult>(cudaGetDeviceCount(count)); }

/// Attributes and errors have the same numbers in runtime and driver, so the casts are exact.
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice device) {
  return static_cast<CUresult>(cudaDeviceGetAttribute(value, static_cast<cudaDeviceAttr>(which), device));
}

/// Accepts any image: cubin, PTX or, in tests, any text.
CUresult cuModuleLoadData(CUmodule* result, const void* image) {
  if (!result || !image) return CUDA_ERROR_INVALID_VALUE;
  *result = &module;
  return CUDA_SUCCESS;
}
CUresult cuModuleLoadDataEx(CUmodule* result, const void* image, unsigned, CUjit_option*, void**) {
  return cuModuleLoadData(result, image);
}
/// Links images to one, which is empty: no image is read.
CUresult cuLinkCreate_v2(unsigned, CUjit_option*, void**, CUlinkState* state) {
  *state = reinterpret_cast<CUlinkState>(&module);
  return CUDA_SUCCESS;
}
CUresult cuLinkComplete(CUlinkState, void** image, size_t* bytes) {
  *image = &module;
  *bytes = sizeof module;
  return CUDA_SUCCESS;
}
CUresult cuModuleLoad(CUmodule* result, const char* file) { return cuModuleLoadData(result, file); }

CUresult cuModuleGetFunction(CUfunction* function, CUmodule from, const char* name) {
  if (!function || from != &module || !name) return CUDA_ERROR_INVALID_VALUE;
  *function = functionOf(name);
  return CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute which, CUfunction function) {
  if (!value || !function) return CUDA_ERROR_INVALID_VALUE;
  // Triton refuses a kernel that needs more threads than this. Other attributes are unknown, hence
  // 0.
  if (which == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)
    return cuDeviceGetAttribute(value, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 0);
  *value = which == CU_FUNC_ATTRIBUTE_NUM_REGS ? 32 : 0;
  return CUDA_SUCCESS;
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void**, void**) {
  if (!config || !function) return CUDA_ERROR_INVALID_VALUE;
  return static_cast<CUresult>(nullgpu::launch(config->hStream, function->name));
}
CUresult cuLaunchKernel(CUfunction function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                        CUstream stream, void**, void**) {
  return function ? static_cast<CUresult>(nullgpu::launch(stream, function->name)) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned x, unsigned y, unsigned z, unsigned threads_x,
                                   unsigned threads_y, unsigned threads_z, unsigned shared, CUstream stream,
                                   void** parameters) {
  return cuLaunchKernel(function, x, y, z, threads_x, threads_y, threads_z, shared, stream, parameters, nullptr);
}
/// One block, which is always possible.
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction, int, size_t) {
  *blocks = 1;
  return CUDA_SUCCESS;
}

/// Triton's launcher asks in this way whether an address belongs to a card.
CUresult cuPointerGetAttribute(void* value, CUpointer_attribute which, CUdeviceptr address) {
  if (which != CU_POINTER_ATTRIBUTE_DEVICE_POINTER) return CUDA_ERROR_NOT_SUPPORTED;
  cudaPointerAttributes found;
  const cudaError_t error = cudaPointerGetAttributes(&found, reinterpret_cast<const void*>(address));
  if (error != cudaSuccess) return static_cast<CUresult>(error);
  if (!found.devicePointer) return CUDA_ERROR_INVALID_VALUE;
  *static_cast<CUdeviceptr*>(value) = reinterpret_cast<CUdeviceptr>(found.devicePointer);
  return CUDA_SUCCESS;
}

}  // extern "C"
