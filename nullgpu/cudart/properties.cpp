#include "nullgpu/cudart/properties.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <limits>
#include <string>

#include "nullgpu/core/cards.h"
#include "nullgpu/core/configuration.h"

namespace nullgpu {
namespace {

/// What differs among generations.
struct Generation {
  unsigned capability;  // from this one on
  int processors, threads, blocks;
  int shared_kib, shared_optin_kib;  // of a processor; of a block
  int l2_mib, bus_bits;
};
constexpr Generation kGenerations[] = {
    {0, 80, 2048, 32, 96, 96, 6, 4096},        {75, 40, 1024, 16, 64, 64, 4, 256},
    {80, 108, 2048, 32, 164, 163, 40, 5120},   {86, 84, 1536, 16, 100, 99, 6, 384},
    {89, 142, 1536, 24, 100, 99, 96, 384},     {90, 132, 2048, 32, 228, 227, 50, 5120},
    {100, 148, 2048, 32, 228, 227, 126, 8192}, {120, 188, 1536, 24, 100, 99, 128, 512},
};

const Generation& generation() {
  const auto* after = std::ranges::upper_bound(kGenerations, configuration().capability, {}, &Generation::capability);
  return *std::prev(after);
}

void setBus(cudaDeviceProp& properties, const std::string& bus) {
  unsigned domain = 0, number = 0, device = 0;
  std::sscanf(bus.c_str(), "%x:%x:%x", &domain, &number, &device);
  properties.pciDomainID = int(domain);
  properties.pciBusID = int(number);
  properties.pciDeviceID = int(device);
}

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

}  // namespace

cudaDeviceProp propertiesOf(unsigned card) {
  cudaDeviceProp properties = {};
  const unsigned number = visibleCards().at(card);
  const Generation& own = generation();
  std::snprintf(properties.name, sizeof properties.name, "%s", cardName().c_str());
  std::ranges::copy(kUuidMark, properties.uuid.bytes);
  properties.uuid.bytes[sizeof properties.uuid.bytes - 1] = char(number + 1);  // cardUuid() writes these bytes
  setBus(properties, cardBus(number));
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
