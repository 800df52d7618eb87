// Cards: how many there are, what they are, which one a thread uses.

#include <cstdio>
#include <mutex>
#include <set>

#include "nullgpu/core/cards.h"
#include "nullgpu/core/enqueue.h"
#include "nullgpu/cudart/call.h"
#include "nullgpu/cudart/properties.h"

namespace nullgpu {
namespace {

bool isCard(int device) { return device >= 0 && size_t(device) < visibleCards().size(); }

/// What the null GPU has nothing of is 0, as CUDA says of a feature that is not there.
int attributeOf(const cudaDeviceProp& p, cudaDeviceAttr attribute) {
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
      return p.maxThreadsPerBlock;
    case cudaDevAttrMaxBlockDimX:
      return p.maxThreadsDim[0];
    case cudaDevAttrMaxBlockDimY:
      return p.maxThreadsDim[1];
    case cudaDevAttrMaxBlockDimZ:
      return p.maxThreadsDim[2];
    case cudaDevAttrMaxGridDimX:
      return p.maxGridSize[0];
    case cudaDevAttrMaxGridDimY:
      return p.maxGridSize[1];
    case cudaDevAttrMaxGridDimZ:
      return p.maxGridSize[2];
    case cudaDevAttrMaxSharedMemoryPerBlock:
      return int(p.sharedMemPerBlock);
    case cudaDevAttrTotalConstantMemory:
      return int(p.totalConstMem);
    case cudaDevAttrWarpSize:
      return p.warpSize;
    case cudaDevAttrMaxPitch:
      return int(p.memPitch);
    case cudaDevAttrMaxRegistersPerBlock:
      return p.regsPerBlock;
    case cudaDevAttrClockRate:
      return 1'980'000;  // kHz
    case cudaDevAttrMemoryClockRate:
      return 2'619'000;  // kHz
    case cudaDevAttrTextureAlignment:
      return int(p.textureAlignment);
    case cudaDevAttrTexturePitchAlignment:
      return int(p.texturePitchAlignment);
    case cudaDevAttrSurfaceAlignment:
      return int(p.surfaceAlignment);
    case cudaDevAttrGpuOverlap:
      return 1;
    case cudaDevAttrMultiProcessorCount:
      return p.multiProcessorCount;
    case cudaDevAttrCanMapHostMemory:
      return p.canMapHostMemory;
    case cudaDevAttrConcurrentKernels:
      return p.concurrentKernels;
    case cudaDevAttrEccEnabled:
      return p.ECCEnabled;
    case cudaDevAttrPciBusId:
      return p.pciBusID;
    case cudaDevAttrPciDeviceId:
      return p.pciDeviceID;
    case cudaDevAttrPciDomainId:
      return p.pciDomainID;
    case cudaDevAttrGlobalMemoryBusWidth:
      return p.memoryBusWidth;
    case cudaDevAttrL2CacheSize:
      return p.l2CacheSize;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      return p.maxThreadsPerMultiProcessor;
    case cudaDevAttrAsyncEngineCount:
      return p.asyncEngineCount;
    case cudaDevAttrUnifiedAddressing:
      return p.unifiedAddressing;
    case cudaDevAttrComputeCapabilityMajor:
      return p.major;
    case cudaDevAttrComputeCapabilityMinor:
      return p.minor;
    case cudaDevAttrStreamPrioritiesSupported:
      return p.streamPrioritiesSupported;
    case cudaDevAttrGlobalL1CacheSupported:
      return p.globalL1CacheSupported;
    case cudaDevAttrLocalL1CacheSupported:
      return p.localL1CacheSupported;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      return int(p.sharedMemPerMultiprocessor);
    case cudaDevAttrMaxRegistersPerMultiprocessor:
      return p.regsPerMultiprocessor;
    case cudaDevAttrSingleToDoublePrecisionPerfRatio:
      return 2;
    case cudaDevAttrComputePreemptionSupported:
      return p.computePreemptionSupported;
    case cudaDevAttrCanUseHostPointerForRegisteredMem:
      return p.canUseHostPointerForRegisteredMem;
    case cudaDevAttrCooperativeLaunch:
      return p.cooperativeLaunch;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      return int(p.sharedMemPerBlockOptin);
    case cudaDevAttrHostRegisterSupported:
      return p.hostRegisterSupported;
    case cudaDevAttrHostRegisterReadOnlySupported:
      return p.hostRegisterReadOnlySupported;
    case cudaDevAttrMaxBlocksPerMultiprocessor:
      return p.maxBlocksPerMultiProcessor;
    case cudaDevAttrReservedSharedMemoryPerBlock:
      return int(p.reservedSharedMemPerBlock);
    case cudaDevAttrMemoryPoolsSupported:
      return p.memoryPoolsSupported;
    case cudaDevAttrClusterLaunch:
      return p.clusterLaunch;
    case cudaDevAttrMemSyncDomainCount:
      return p.clusterLaunch ? 4 : 1;
    case cudaDevAttrNumaId:
      return p.deviceNumaId;
    case cudaDevAttrHostNumaId:
      return p.hostNumaId;
    default:
      return 0;
  }
}

/// Peer access of the process: pairs of cards, the first of which may use the memory of the second.
std::set<std::pair<int, int>>& peers() {
  static auto* all = new std::set<std::pair<int, int>>;
  return *all;
}
std::mutex peers_mutex;

}  // namespace
}  // namespace nullgpu

using namespace nullgpu;

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  if (count) *count = 0;
  return ask("cudaGetDeviceCount", [&] {
    if (!count) return cudaErrorInvalidValue;
    *count = int(visibleCards().size());
    return cudaSuccess;
  });
}

cudaError_t cudaGetDevice(int* device) {
  return ask("cudaGetDevice", [&] {
    if (!device) return cudaErrorInvalidValue;
    *device = int(currentCard());
    return cudaSuccess;
  });
}

cudaError_t cudaSetDevice(int device) {
  return call("cudaSetDevice", [&] { return selectCard(device); });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return ask("cudaGetDeviceProperties", [&] {
    if (!properties) return cudaErrorInvalidValue;
    if (!isCard(device)) return cudaErrorInvalidDevice;
    *properties = propertiesOf(unsigned(device));
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return ask("cudaDeviceGetAttribute", [&] {
    if (!value || attribute <= 0 || attribute >= cudaDevAttrMax) return cudaErrorInvalidValue;
    if (!isCard(device)) return cudaErrorInvalidDevice;
    *value = attributeOf(propertiesOf(unsigned(device)), attribute);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetPCIBusId(char* bus, int length, int device) {
  return ask("cudaDeviceGetPCIBusId", [&] {
    if (!bus || length < 13) return cudaErrorInvalidValue;
    if (!isCard(device)) return cudaErrorInvalidDevice;
    std::snprintf(bus, size_t(length), "%s", cardBus(visibleCards()[size_t(device)]).c_str());
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return ask("cudaDeviceGetStreamPriorityRange", [&] {
    if (least) *least = kLeastPriority;
    if (greatest) *greatest = kGreatestPriority;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return ask("cudaDeviceCanAccessPeer", [&] {
    if (!can) return cudaErrorInvalidValue;
    if (!isCard(device) || !isCard(peer)) return cudaErrorInvalidDevice;
    *can = device != peer;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  return call("cudaDeviceEnablePeerAccess", [&] {
    if (flags != 0) return cudaErrorInvalidValue;
    if (!isCard(peer) || unsigned(peer) == currentCard()) return cudaErrorInvalidDevice;
    const std::lock_guard lock(peers_mutex);
    return peers().emplace(int(currentCard()), peer).second ? cudaSuccess : cudaErrorPeerAccessAlreadyEnabled;
  });
}

cudaError_t cudaDriverGetVersion(int* version) {
  if (!version) return remember(cudaErrorInvalidValue);
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  if (!version) return remember(cudaErrorInvalidValue);
  *version = CUDART_VERSION;
  return cudaSuccess;
}

/// Who profiles listens already, or does not.
cudaError_t cudaProfilerStart() {
  return call("cudaProfilerStart", [] { return cudaSuccess; });
}
cudaError_t cudaProfilerStop() {
  return call("cudaProfilerStop", [] { return cudaSuccess; });
}

}  // extern "C"
