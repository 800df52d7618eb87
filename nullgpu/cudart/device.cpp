// Cards: how many there are, what they are, which one a thread uses.

#include <cstdio>
#include <mutex>
#include <set>

#include "nullgpu/core/cards.h"
#include "nullgpu/core/stream.h"
#include "nullgpu/cudart/call.h"
#include "nullgpu/cudart/properties.h"

namespace nullgpu {
namespace {

bool isCard(int device) { return device >= 0 && size_t(device) < visibleCards().size(); }

/// What the null GPU has nothing of is 0, as CUDA says of a feature that is not there.
int attributeOf(const cudaDeviceProp& p, cudaDeviceAttr attribute) {
  const struct {
    cudaDeviceAttr attribute;
    int value;
  } known[] = {
      {cudaDevAttrMaxThreadsPerBlock, p.maxThreadsPerBlock},
      {cudaDevAttrMaxBlockDimX, p.maxThreadsDim[0]},
      {cudaDevAttrMaxBlockDimY, p.maxThreadsDim[1]},
      {cudaDevAttrMaxBlockDimZ, p.maxThreadsDim[2]},
      {cudaDevAttrMaxGridDimX, p.maxGridSize[0]},
      {cudaDevAttrMaxGridDimY, p.maxGridSize[1]},
      {cudaDevAttrMaxGridDimZ, p.maxGridSize[2]},
      {cudaDevAttrMaxSharedMemoryPerBlock, int(p.sharedMemPerBlock)},
      {cudaDevAttrTotalConstantMemory, int(p.totalConstMem)},
      {cudaDevAttrWarpSize, p.warpSize},
      {cudaDevAttrMaxPitch, int(p.memPitch)},
      {cudaDevAttrMaxRegistersPerBlock, p.regsPerBlock},
      {cudaDevAttrClockRate, 1'980'000},        // kHz
      {cudaDevAttrMemoryClockRate, 2'619'000},  // kHz
      {cudaDevAttrTextureAlignment, int(p.textureAlignment)},
      {cudaDevAttrTexturePitchAlignment, int(p.texturePitchAlignment)},
      {cudaDevAttrSurfaceAlignment, int(p.surfaceAlignment)},
      {cudaDevAttrGpuOverlap, 1},
      {cudaDevAttrMultiProcessorCount, p.multiProcessorCount},
      {cudaDevAttrCanMapHostMemory, p.canMapHostMemory},
      {cudaDevAttrConcurrentKernels, p.concurrentKernels},
      {cudaDevAttrEccEnabled, p.ECCEnabled},
      {cudaDevAttrPciBusId, p.pciBusID},
      {cudaDevAttrPciDeviceId, p.pciDeviceID},
      {cudaDevAttrPciDomainId, p.pciDomainID},
      {cudaDevAttrGlobalMemoryBusWidth, p.memoryBusWidth},
      {cudaDevAttrL2CacheSize, p.l2CacheSize},
      {cudaDevAttrMaxThreadsPerMultiProcessor, p.maxThreadsPerMultiProcessor},
      {cudaDevAttrAsyncEngineCount, p.asyncEngineCount},
      {cudaDevAttrUnifiedAddressing, p.unifiedAddressing},
      {cudaDevAttrComputeCapabilityMajor, p.major},
      {cudaDevAttrComputeCapabilityMinor, p.minor},
      {cudaDevAttrStreamPrioritiesSupported, p.streamPrioritiesSupported},
      {cudaDevAttrGlobalL1CacheSupported, p.globalL1CacheSupported},
      {cudaDevAttrLocalL1CacheSupported, p.localL1CacheSupported},
      {cudaDevAttrMaxSharedMemoryPerMultiprocessor, int(p.sharedMemPerMultiprocessor)},
      {cudaDevAttrMaxRegistersPerMultiprocessor, p.regsPerMultiprocessor},
      {cudaDevAttrSingleToDoublePrecisionPerfRatio, 2},
      {cudaDevAttrComputePreemptionSupported, p.computePreemptionSupported},
      {cudaDevAttrCanUseHostPointerForRegisteredMem, p.canUseHostPointerForRegisteredMem},
      {cudaDevAttrCooperativeLaunch, p.cooperativeLaunch},
      {cudaDevAttrMaxSharedMemoryPerBlockOptin, int(p.sharedMemPerBlockOptin)},
      {cudaDevAttrHostRegisterSupported, p.hostRegisterSupported},
      {cudaDevAttrHostRegisterReadOnlySupported, p.hostRegisterReadOnlySupported},
      {cudaDevAttrMaxBlocksPerMultiprocessor, p.maxBlocksPerMultiProcessor},
      {cudaDevAttrReservedSharedMemoryPerBlock, int(p.reservedSharedMemPerBlock)},
      {cudaDevAttrMemoryPoolsSupported, p.memoryPoolsSupported},
      {cudaDevAttrClusterLaunch, p.clusterLaunch},
      {cudaDevAttrMemSyncDomainCount, p.clusterLaunch ? 4 : 1},
      {cudaDevAttrNumaId, p.deviceNumaId},
      {cudaDevAttrHostNumaId, p.hostNumaId},
  };
  for (const auto& each : known)
    if (each.attribute == attribute) return each.value;
  return 0;
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
  return ask("cudaGetDeviceCount", [&] { return give(count, int(visibleCards().size())); });
}

cudaError_t cudaGetDevice(int* device) {
  return ask("cudaGetDevice", [&] { return give(device, int(currentCard())); });
}

NULLGPU_CALL(cudaSetDevice, (int device), selectCard(device))

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return ask("cudaGetDeviceProperties", [&] {
    if (properties && !isCard(device)) return cudaErrorInvalidDevice;
    return properties ? give(properties, propertiesOf(unsigned(device))) : cudaErrorInvalidValue;
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return ask("cudaDeviceGetAttribute", [&] {
    if (!value || attribute <= 0 || attribute >= cudaDevAttrMax) return cudaErrorInvalidValue;
    return isCard(device) ? give(value, attributeOf(propertiesOf(unsigned(device)), attribute))
                          : cudaErrorInvalidDevice;
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
    if (can && (!isCard(device) || !isCard(peer))) return cudaErrorInvalidDevice;
    return give(can, device != peer);
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

cudaError_t cudaDriverGetVersion(int* version) { return remember(give(version, CUDART_VERSION)); }
cudaError_t cudaRuntimeGetVersion(int* version) { return remember(give(version, CUDART_VERSION)); }

/// Who profiles listens already, or does not.
NULLGPU_CALL(cudaProfilerStart, (), cudaSuccess)
NULLGPU_CALL(cudaProfilerStop, (), cudaSuccess)

}  // extern "C"
