// Launches of a program's kernels. nvcc generates host code that registers each kernel when its
// library is loaded and launches it through the functions with two underscores below. The null GPU
// keeps only the names, checks the shape of a launch against the card's limits, and launches
// nothing.

#include <algorithm>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "nullgpu/core/configuration.h"
#include "nullgpu/core/stream.h"
#include "nullgpu/cudart/call.h"

namespace nullgpu {
namespace {

std::mutex kernels_mutex;

/// The mangled names of kernels, by the host function that stands for each. The names lie in the
/// library that registers them.
std::unordered_map<const void*, const char*>& kernels() {
  static auto* all = new std::unordered_map<const void*, const char*>;
  return *all;
}

/// The kernel's name; null for a function that was never registered.
const char* nameOf(const void* function) {
  const std::lock_guard lock(kernels_mutex);
  const auto found = kernels().find(function);
  return found == kernels().end() ? nullptr : found->second;
}

/// The limits of a card. All cards are alike, so the first one's serve.
const cudaDeviceProp& limits() {
  static const cudaDeviceProp properties = propertiesOf(0);
  return properties;
}

uint64_t threadsOf(const dim3& block) { return uint64_t{block.x} * block.y * block.z; }

/// Checks grid, block and dynamic shared memory, as a driver does at a launch.
cudaError_t refuseShape(const dim3& grid, const dim3& block, size_t shared) {
  const auto within = [](const dim3& shape, const int(&most)[3]) {
    return shape.x >= 1 && shape.y >= 1 && shape.z >= 1 && shape.x <= unsigned(most[0]) &&
           shape.y <= unsigned(most[1]) && shape.z <= unsigned(most[2]);
  };
  if (!within(grid, limits().maxGridSize) || !within(block, limits().maxThreadsDim))
    return cudaErrorInvalidConfiguration;
  if (threadsOf(block) > uint64_t(limits().maxThreadsPerBlock)) return cudaErrorInvalidConfiguration;
  return shared > limits().sharedMemPerBlockOptin ? cudaErrorInvalidValue : cudaSuccess;
}

/// Launches a kernel after these checks.
cudaError_t start(const void* function, const cudaLaunchConfig_t& shape) {
  const char* name = nameOf(function);
  if (!name) return cudaErrorInvalidDeviceFunction;
  const cudaError_t error = refuseShape(shape.gridDim, shape.blockDim, shape.dynamicSmemBytes);
  return error ? error : launch(shape.stream, name);
}

/// The launches that "<<<...>>>" has begun: their shape is pushed, then popped by the kernel's host
/// function. A stack, since an argument's expression may launch a kernel itself.
thread_local std::vector<cudaLaunchConfig_t> shapes;

/// Blocks per multiprocessor by threads, blocks and dynamic shared memory. Registers and static
/// shared memory of the kernels are unknown, so the result is an upper bound.
cudaError_t occupancy(int* blocks, const void* function, int block_size, size_t shared) {
  if (!blocks || block_size <= 0) return cudaErrorInvalidValue;
  if (!nameOf(function)) return cudaErrorInvalidDeviceFunction;
  if (block_size > limits().maxThreadsPerBlock || shared > limits().sharedMemPerBlockOptin) {
    *blocks = 0;
    return cudaSuccess;
  }
  *blocks = std::min(limits().maxBlocksPerMultiProcessor, limits().maxThreadsPerMultiProcessor / block_size);
  if (shared > 0) *blocks = std::min(*blocks, int(limits().sharedMemPerMultiprocessor / shared));
  return cudaSuccess;
}

/// Plausible attributes for any kernel, since nothing is known of kernels but their names.
cudaFuncAttributes attributes() {
  cudaFuncAttributes result = {};
  result.maxThreadsPerBlock = limits().maxThreadsPerBlock;
  result.numRegs = 32;
  result.ptxVersion = result.binaryVersion = int(configuration().capability);
  result.maxDynamicSharedSizeBytes = int(limits().sharedMemPerBlock);
  result.preferredShmemCarveout = -1;
  return result;
}

}  // namespace
}  // namespace nullgpu

using namespace nullgpu;

extern "C" {

// Nothing is read from the program's binary code: kernels arrive by name.
void** __cudaRegisterFatBinary(void*) {
  static void* handle = nullptr;
  return &handle;
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
char __cudaInitModule(void**) { return 1; }

/// Called by nvcc's code for each kernel of a library: `function` is the host function that stands
/// for it.
void __cudaRegisterFunction(void**, const char* function, char*, const char* name, int, uint3*, uint3*, dim3*, dim3*,
                            int*) {
  const std::lock_guard lock(kernels_mutex);
  kernels()[function] = name;
}

/// "<<<grid, block, shared, stream>>>" becomes this call, and the kernel's host function then pops
/// it and launches.
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream) {
  shapes.push_back({grid, block, shared, stream, nullptr, 0});
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
  if (shapes.empty()) return remember(cudaErrorMissingConfiguration);
  const cudaLaunchConfig_t shape = shapes.back();
  shapes.pop_back();
  *grid = shape.gridDim;
  *block = shape.blockDim;
  *shared = shape.dynamicSmemBytes;
  *static_cast<cudaStream_t*>(stream) = shape.stream;
  return cudaSuccess;
}

NULLGPU_CALL(cudaLaunchKernel,
             (const void* function, dim3 grid, dim3 block, void**, size_t shared, cudaStream_t stream),
             start(function, {grid, block, shared, stream, nullptr, 0}))
NULLGPU_CALL(cudaLaunchCooperativeKernel,
             (const void* function, dim3 grid, dim3 block, void**, size_t shared, cudaStream_t stream),
             start(function, {grid, block, shared, stream, nullptr, 0}))
NULLGPU_CALL(cudaLaunchKernelExC, (const cudaLaunchConfig_t* config, const void* function, void**),
             config ? start(function, *config) : cudaErrorInvalidValue)
/// The handle of a kernel is the address of its host function.
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(function));
  return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void**, size_t shared, cudaStream_t stream) {
  return call("cudaLaunchKernel", [&] { return start(kernel, {grid, block, shared, stream, nullptr, 0}); });
}

NULLGPU_CALL(cudaFuncGetAttributes, (cudaFuncAttributes * result, const void* function),
             result && !nameOf(function) ? cudaErrorInvalidDeviceFunction : give(result, attributes()))
NULLGPU_CALL(cudaFuncSetAttribute, (const void* function, cudaFuncAttribute attribute, int value),
             !nameOf(function) ? cudaErrorInvalidDeviceFunction
             : attribute == cudaFuncAttributeMaxDynamicSharedMemorySize && value > int(limits().sharedMemPerBlockOptin)
                 ? cudaErrorInvalidValue
                 : cudaSuccess)
NULLGPU_CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessor,
             (int* blocks, const void* function, int block_size, size_t shared),
             occupancy(blocks, function, block_size, shared))
NULLGPU_CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
             (int* blocks, const void* function, int block_size, size_t shared, unsigned),
             occupancy(blocks, function, block_size, shared))

}  // extern "C"
