// Memory of the cards and of the host.

#include "nullgpu/core/memory.h"

#include <atomic>

#include "nullgpu/core/capture.h"
#include "nullgpu/core/cards.h"
#include "nullgpu/core/configuration.h"
#include "nullgpu/core/host_memory.h"
#include "nullgpu/core/machine.h"
#include "nullgpu/core/stream.h"
#include "nullgpu/cudart/call.h"

namespace nullgpu {
namespace {

/// Of a call that an ongoing capture may forbid.
cudaError_t safely(auto body) {
  const cudaError_t error = refuseUnsafeCall();
  return error ? error : body();
}

cudaError_t take(void** address, size_t bytes) {
  if (!address) return cudaErrorInvalidValue;
  return safely([&] { return allocate(currentCard(), bytes, address, [] { synchronizeCard(currentCard()); }); });
}

cudaError_t takeHost(void** address, size_t bytes, unsigned flags) {
  return address ? safely([&] { return allocateHost(bytes, flags, address); }) : cudaErrorInvalidValue;
}

/// Waits for all that its card does, as CUDA's does.
cudaError_t giveBack(void* address) {
  if (!address) return cudaSuccess;
  if (const cudaError_t error = refuseUnsafeCall()) return error;
  const auto card = cardOf(address);
  if (!card || allocationOf(address).begin != address) return cudaErrorInvalidValue;
  const cudaError_t error = synchronizeCard(*card);
  return error ? error : deallocate(address);
}

cudaPointerAttributes attributesOf(const void* address) {
  cudaPointerAttributes result = {};
  auto* same = const_cast<void*>(address);
  if (const auto card = cardOf(address)) {
    result.type = cudaMemoryTypeDevice;
    result.device = int(*card);
    result.devicePointer = same;
  } else if (hostRange(address)) {
    result.type = cudaMemoryTypeHost;
    result.device = int(currentCard());
    result.devicePointer = result.hostPointer = same;
  } else {
    result.type = cudaMemoryTypeUnregistered;
    result.device = cudaInvalidDeviceId;
    result.hostPointer = same;
  }
  return result;
}

}  // namespace
}  // namespace nullgpu

using namespace nullgpu;

extern "C" {

NULLGPU_CALL(cudaMalloc, (void** address, size_t bytes), take(address, bytes))
NULLGPU_CALL(cudaFree, (void* address), giveBack(address))

/// Within a capture CUDA makes it a node; the null GPU has no such nodes.
cudaError_t cudaMallocAsync(void** address, size_t bytes, cudaStream_t stream) {
  return call("cudaMallocAsync", [&] {
    if (!address) return cudaErrorInvalidValue;
    if (isCaptured(stream)) return cudaErrorNotSupported;
    return allocate(cardOfStream(stream), bytes, address, [&] { synchronizeCard(cardOfStream(stream)); });
  });
}
cudaError_t cudaFreeAsync(void* address, cudaStream_t stream) {
  return call("cudaFreeAsync", [&] {
    if (!address) return cudaSuccess;
    if (isCaptured(stream)) return cudaErrorNotSupported;
    if (allocationOf(address).begin != address) return cudaErrorInvalidValue;
    // The memory goes back when its stream comes to it.
    return enqueue(stream, std::make_shared<FunctionOperation>([address] { return deallocate(address), true; }));
  });
}

/// Null cards have no managed memory. bitsandbytes, which needs it for paged optimisers only, is not loaded without
/// these names.
NULLGPU_CALL(cudaMallocManaged, (void**, size_t, unsigned), cudaErrorNotSupported)
NULLGPU_CALL(cudaMemPrefetchAsync, (const void*, size_t, cudaMemLocation, unsigned, cudaStream_t),
             cudaErrorNotSupported)

cudaError_t cudaMemGetInfo(size_t* left, size_t* total) {
  return call("cudaMemGetInfo", [&] {
    if (!left || !total) return cudaErrorInvalidValue;
    const uint64_t used = machine().state(visibleCards()[currentCard()]).used;
    *total = configuration().memory;
    *left = used < *total ? *total - used : 0;
    return cudaSuccess;
  });
}

NULLGPU_CALL(cudaPointerGetAttributes, (cudaPointerAttributes * attributes, const void* address),
             give(attributes, attributesOf(address)))

NULLGPU_CALL(cudaHostAlloc, (void** address, size_t bytes, unsigned flags), takeHost(address, bytes, flags))
NULLGPU_CALL(cudaMallocHost, (void** address, size_t bytes), takeHost(address, bytes, cudaHostAllocDefault))
NULLGPU_CALL(cudaFreeHost, (void* address), safely([&] { return freeHost(address); }))
NULLGPU_CALL(cudaHostRegister, (void* address, size_t bytes, unsigned flags),
             safely([&] { return registerHost(address, bytes, flags); }))
NULLGPU_CALL(cudaHostUnregister, (void* address), safely([&] { return unregisterHost(address); }))

// Memory and events of other processes: the null GPU has none to share.
NULLGPU_CALL(cudaIpcGetEventHandle, (cudaIpcEventHandle_t*, cudaEvent_t), cudaErrorNotSupported)
NULLGPU_CALL(cudaIpcOpenEventHandle, (cudaEvent_t*, cudaIpcEventHandle_t), cudaErrorNotSupported)
NULLGPU_CALL(cudaIpcGetMemHandle, (cudaIpcMemHandle_t*, void*), cudaErrorNotSupported)
NULLGPU_CALL(cudaIpcOpenMemHandle, (void**, cudaIpcMemHandle_t, unsigned), cudaErrorNotSupported)
NULLGPU_CALL(cudaIpcCloseMemHandle, (void*), cudaErrorNotSupported)

}  // extern "C"
