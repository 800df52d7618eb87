// Kernels that come as images at run time, as Triton's do, and what it asks of a card before it makes them. An image is
// not read: any name is a function of it.

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <mutex>
#include <set>
#include <string>

#include "nullgpu/core/stream.h"

/// An image that was loaded; all have the same address, since nothing is known of any.
struct CUmod_st {};
/// A function by its name, which lives as long as the process.
struct CUfunc_st {
  std::string name;
  bool operator<(const CUfunc_st& other) const { return name < other.name; }
};

namespace {

CUmod_st module;

CUfunction functionOf(const char* name) {
  static std::mutex mutex;
  static auto* functions = new std::set<CUfunc_st>;
  const std::lock_guard lock(mutex);
  return const_cast<CUfunction>(&*functions->insert({name}).first);
}

/// The runtime's and the driver's numbers of attributes and errors are the same.
CUresult attribute(int* value, CUdevice_attribute which, CUdevice device) {
  return static_cast<CUresult>(cudaDeviceGetAttribute(value, static_cast<cudaDeviceAttr>(which), device));
}

}  // namespace

extern "C" {

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  int count = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count)) return static_cast<CUresult>(error);
  if (!device || ordinal < 0 || ordinal >= count) return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice device) {
  return attribute(value, which, device);
}

CUresult cuModuleLoadData(CUmodule* result, const void* image) {
  if (!result || !image) return CUDA_ERROR_INVALID_VALUE;
  *result = &module;
  return CUDA_SUCCESS;
}
CUresult cuModuleLoad(CUmodule* result, const char* file) { return cuModuleLoadData(result, file); }
CUresult cuModuleUnload(CUmodule) { return CUDA_SUCCESS; }

CUresult cuModuleGetFunction(CUfunction* function, CUmodule from, const char* name) {
  if (!function || from != &module || !name) return CUDA_ERROR_INVALID_VALUE;
  *function = functionOf(name);
  return CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute which, CUfunction function) {
  if (!value || !function) return CUDA_ERROR_INVALID_VALUE;
  switch (which) {
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      *value = 32;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      return attribute(value, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 0);
    default:
      *value = 0;
      return CUDA_SUCCESS;
  }
}
CUresult cuFuncSetAttribute(CUfunction, CUfunction_attribute, int) { return CUDA_SUCCESS; }
CUresult cuFuncSetCacheConfig(CUfunction, CUfunc_cache) { return CUDA_SUCCESS; }

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void**, void**) {
  if (!config || !function) return CUDA_ERROR_INVALID_VALUE;
  return static_cast<CUresult>(nullgpu::launch(config->hStream, function->name));
}
CUresult cuLaunchKernel(CUfunction function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                        CUstream stream, void**, void**) {
  return function ? static_cast<CUresult>(nullgpu::launch(stream, function->name)) : CUDA_ERROR_INVALID_VALUE;
}

/// Triton's launcher asks so whether an address is a card's.
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
