// Cards: their number, their properties, and the one that a thread uses; also peer access, and the
// entry points of the driver. Properties follow the configured compute capability, because torch
// and Triton choose kernels and tile sizes by them.

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "nullgpu/core/cards.h"
#include "nullgpu/core/configuration.h"
#include "nullgpu/core/stream.h"
#include "nullgpu/cudart/call.h"

namespace nullgpu {
namespace {

/// The sizes in which generations of GPUs differ.
struct Generation {
  unsigned capability;  // the first capability that this entry is for
  int processors, threads, blocks;
  // Shared memory of a multiprocessor, and the most that one block may ask for; KiB.
  int shared_kib, shared_optin_kib;
  int l2_mib, bus_bits;
};
/// Sources: NVIDIA's table "Technical Specifications per Compute Capability" (CUDA C++ Programming
/// Guide) and the data sheets of one GPU of each generation: V100, T4, A100, A40, L40S, H100, B200,
/// RTX PRO 6000.
constexpr Generation kGenerations[] = {
    {0, 80, 2048, 32, 96, 96, 6, 4096},        {75, 40, 1024, 16, 64, 64, 4, 256},
    {80, 108, 2048, 32, 164, 163, 40, 5120},   {86, 84, 1536, 16, 100, 99, 6, 384},
    {89, 142, 1536, 24, 100, 99, 96, 384},     {90, 132, 2048, 32, 228, 227, 50, 5120},
    {100, 148, 2048, 32, 228, 227, 126, 8192}, {120, 188, 1536, 24, 100, 99, 128, 512},
};

/// The entry for the configured capability; capabilities in between use the next lower one.
const Generation& generation() {
  const auto* after = std::ranges::upper_bound(kGenerations, configuration().capability, {}, &Generation::capability);
  return *std::prev(after);
}

/// Limits that are equal for all generations.
void setLimits(cudaDeviceProp& properties) {
  properties.warpSize = 32;
  properties.maxThreadsPerBlock = 1024;
  std::ranges::copy(std::initializer_list<int>{1024, 1024, 64}, properties.maxThreadsDim);
  std::ranges::copy(std::initializer_list<int>{std::numeric_limits<int>::max(), 65535, 65535}, properties.maxGridSize);
  properties.regsPerBlock = properties.regsPerMultiprocessor = 65536;
  properties.sharedMemPerBlock = 48 << 10;
  properties.reservedSharedMemPerBlock = configuration().capability >= 80 ? 1024 : 0;
  properties.totalConstMem = 64 << 10;
  properties.memPitch = std::numeric_limits<int>::max();
  properties.textureAlignment = properties.surfaceAlignment = 512;
  properties.texturePitchAlignment = 32;
}

/// Features that torch asks for and that the null GPU has.
void setFeatures(cudaDeviceProp& properties) {
  properties.canMapHostMemory = properties.concurrentKernels = properties.unifiedAddressing = 1;
  properties.streamPrioritiesSupported = properties.globalL1CacheSupported = properties.localL1CacheSupported = 1;
  properties.hostRegisterSupported = properties.hostRegisterReadOnlySupported = properties.memoryPoolsSupported = 1;
  properties.canUseHostPointerForRegisteredMem = properties.computePreemptionSupported = 1;
  properties.cooperativeLaunch = properties.ECCEnabled = 1;
  properties.asyncEngineCount = 3;
  properties.clusterLaunch = configuration().capability >= 90;
  properties.deviceNumaId = properties.hostNumaId = -1;
}

/// The value of an attribute. Unknown attributes are 0, which CUDA uses for a feature that is
/// missing.
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
      {cudaDevAttrClockRate, int(kWorkClock * 1000)},          // kHz
      {cudaDevAttrMemoryClockRate, int(kMemoryClock * 1000)},  // kHz
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

/// Peer access within the process: the first card may use the memory of the second. Recorded only
/// to answer a repeated request with the right error; copies between cards always work.
auto& peers = *new std::set<std::pair<int, int>>;
std::mutex peers_mutex;

/// A function of the driver by its base name. If CUDA has changed a function, the plain name stands
/// for the oldest version and "_v2" and so on for later ones; a program built today means the
/// newest.
void* driverFunction(const std::string& name) {
  static void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (!driver) return nullptr;
  for (const char* version : {"_v4", "_v3", "_v2", ""})
    if (void* function = dlsym(driver, (name + version).c_str())) return function;
  return nullptr;
}

}  // namespace

cudaDeviceProp propertiesOf(unsigned card) {
  cudaDeviceProp properties = {};
  const unsigned number = visibleCards().at(card);
  const Generation& own = generation();
  std::snprintf(properties.name, sizeof properties.name, "%s", cardName().c_str());
  std::ranges::copy(kUuidMark, properties.uuid.bytes);
  properties.uuid.bytes[sizeof properties.uuid.bytes - 1] = char(number + 1);  // the same bytes as in cardUuid()
  properties.pciBusID = int(busNumber(number));
  setLimits(properties);
  setFeatures(properties);
  properties.major = int(configuration().capability / 10);
  properties.minor = int(configuration().capability % 10);
  properties.totalGlobalMem = configuration().memory;
  properties.multiProcessorCount = own.processors;
  properties.maxThreadsPerMultiProcessor = own.threads;
  properties.maxBlocksPerMultiProcessor = own.blocks;
  properties.sharedMemPerMultiprocessor = size_t(own.shared_kib) << 10;
  properties.sharedMemPerBlockOptin = size_t(own.shared_optin_kib) << 10;
  properties.l2CacheSize = own.l2_mib << 20;
  properties.memoryBusWidth = own.bus_bits;
  return properties;
}

}  // namespace nullgpu

using namespace nullgpu;

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  // Callers read the count even after an error.
  if (count) *count = 0;
  return ask("cudaGetDeviceCount", [&] { return give(count, int(visibleCards().size())); });
}

NULLGPU_ASK(cudaGetDevice, (int* device), give(device, int(currentCard())))
NULLGPU_CALL(cudaSetDevice, (int device), selectCard(device))
NULLGPU_ASK(cudaGetDeviceProperties, (cudaDeviceProp * properties, int device),
            properties && !isCard(device) ? cudaErrorInvalidDevice
            : properties                  ? give(properties, propertiesOf(unsigned(device)))
                                          : cudaErrorInvalidValue)
NULLGPU_ASK(cudaDeviceGetAttribute, (int* value, cudaDeviceAttr attribute, int device),
            !value || attribute <= 0 || attribute >= cudaDevAttrMax ? cudaErrorInvalidValue
            : isCard(device) ? give(value, attributeOf(propertiesOf(unsigned(device)), attribute))
                             : cudaErrorInvalidDevice)

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

NULLGPU_ASK(cudaDeviceCanAccessPeer, (int* can, int device, int peer),
            can && (!isCard(device) || !isCard(peer)) ? cudaErrorInvalidDevice : give(can, device != peer))
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  return call("cudaDeviceEnablePeerAccess", [&] {
    if (flags != 0) return cudaErrorInvalidValue;
    if (!isCard(peer) || unsigned(peer) == currentCard()) return cudaErrorInvalidDevice;
    const std::lock_guard lock(peers_mutex);
    return peers.emplace(int(currentCard()), peer).second ? cudaSuccess : cudaErrorPeerAccessAlreadyEnabled;
  });
}

cudaError_t cudaDriverGetVersion(int* version) { return remember(give(version, CUDART_VERSION)); }
cudaError_t cudaRuntimeGetVersion(int* version) { return remember(give(version, CUDART_VERSION)); }

/// Gives functions of the driver by name, which is how torch looks them up. The requested version
/// is ignored.
cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult* result) {
  return ask("cudaGetDriverEntryPointByVersion", [&] {
    if (!symbol || !function) return cudaErrorInvalidValue;
    *function = driverFunction(symbol);
    if (result) *result = *function ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    return cudaSuccess;
  });
}

/// Whoever profiles listens already (activity.h), so there is nothing to start or stop.
NULLGPU_CALL(cudaProfilerStart, (), cudaSuccess)
NULLGPU_CALL(cudaProfilerStop, (), cudaSuccess)

}  // extern "C"
