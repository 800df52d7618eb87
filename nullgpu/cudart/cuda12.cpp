// Functions that CUDA 12's runtime has under another name, or with another layout of a structure, than CUDA
// 13's. All others are the same in both, so both sonames lead to this library (library.cmake). Sources:
// driver_types.h and cuda_runtime_api.h of nvidia-cuda-runtime-cu12 12.4.127 and 12.8.90.

#include <array>
#include <cstring>

#include "nullgpu/core/host_ranges.h"
#include "nullgpu/cudart/call.h"

namespace nullgpu {
namespace {

/// The size of CUDA 12's cudaDeviceProp.
constexpr size_t kSize = 1032;

/// Fields that follow each other in both layouts: where they begin in CUDA 12's and in ours, and their bytes.
constexpr struct {
  size_t theirs, ours, bytes;
} kRuns[] = {
    {0, 0, offsetof(cudaDeviceProp, multiProcessorCount)},
    {388, offsetof(cudaDeviceProp, multiProcessorCount), 4},
    {396, offsetof(cudaDeviceProp, integrated), 8},
    {408, offsetof(cudaDeviceProp, maxTexture1D), 8},
    {420, offsetof(cudaDeviceProp, maxTexture2D), 188},
    {612, offsetof(cudaDeviceProp, memoryBusWidth), 28},
    {640, offsetof(cudaDeviceProp, sharedMemPerMultiprocessor), 28},
    {672, offsetof(cudaDeviceProp, pageableMemoryAccess), 20},
    {696, offsetof(cudaDeviceProp, sharedMemPerBlockOptin), 84},
};

/// Fields that only CUDA 12 has and that are not 0 here: where they are, and the attribute with their value.
constexpr struct {
  size_t theirs;
  cudaDeviceAttr attribute;
} kOnlyTheirs[] = {
    {348, cudaDevAttrClockRate},
    {384, cudaDevAttrGpuOverlap},
    {608, cudaDevAttrMemoryClockRate},
    {668, cudaDevAttrSingleToDoublePrecisionPerfRatio},
};

}  // namespace
}  // namespace nullgpu

using namespace nullgpu;

extern "C" {

cudaError_t cudaGetDeviceProperties_v2(void* properties, int device) {
  cudaDeviceProp ours;
  if (const cudaError_t error = cudaGetDeviceProperties(properties ? &ours : nullptr, device)) return error;
  std::array<char, kSize> theirs{};
  for (const auto& run : kRuns)
    std::memcpy(theirs.data() + run.theirs, reinterpret_cast<const char*>(&ours) + run.ours, run.bytes);
  for (const auto& each : kOnlyTheirs)
    cudaDeviceGetAttribute(reinterpret_cast<int*>(theirs.data() + each.theirs), each.attribute, device);
  std::memcpy(properties, theirs.data(), kSize);
  return cudaSuccess;
}

/// In CUDA 12, edges of graphs have no data.
cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                                        cudaGraph_t* graph, const cudaGraphNode_t** dependencies, size_t* count) {
  return cudaStreamGetCaptureInfo(stream, status, id, graph, dependencies, nullptr, count);
}

cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* result) {
  return cudaGetDriverEntryPointByVersion(symbol, function, CUDART_VERSION, flags, result);
}

/// The host's address, as everywhere with unified addresses.
NULLGPU_ASK(cudaHostGetDevicePointer, (void** address, void* host, unsigned),
            hostRange(host) ? give(address, host) : cudaErrorInvalidValue)

}  // extern "C"
