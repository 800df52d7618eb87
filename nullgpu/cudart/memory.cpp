// Memory of the cards and of the host.

#include "nullgpu/core/memory.h"

#include <atomic>

#include "nullgpu/core/allocation.h"
#include "nullgpu/core/capture.h"
#include "nullgpu/core/cards.h"
#include "nullgpu/core/configuration.h"
#include "nullgpu/core/enqueue.h"
#include "nullgpu/core/host_memory.h"
#include "nullgpu/cudart/call.h"

namespace nullgpu {
namespace {

/// cudaFreeAsync: the memory goes back when its stream comes to it.
class Free final : public Operation {
 public:
  explicit Free(void* address) : address_(address) {}
  bool advance() override {
    deallocate(address_);
    return true;
  }

 private:
  void* address_;
};

cudaError_t take(void** address, size_t bytes) {
  if (!address) return cudaErrorInvalidValue;
  if (const cudaError_t error = refuseUnsafeCall()) return error;
  return allocate(currentCard(), bytes, address, [] { synchronizeCard(); });
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

cudaError_t safely(auto body) {
  const cudaError_t error = refuseUnsafeCall();
  return error ? error : body();
}

}  // namespace
}  // namespace nullgpu

using namespace nullgpu;

extern "C" {

cudaError_t cudaMalloc(void** address, size_t bytes) {
  return call("cudaMalloc", [&] { return take(address, bytes); });
}
cudaError_t cudaFree(void* address) {
  return call("cudaFree", [&] { return giveBack(address); });
}

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
    return enqueue(stream, std::make_shared<Free>(address));
  });
}

/// Null cards have no managed memory. bitsandbytes, which needs it for paged optimisers only, is not loaded without
/// these names.
cudaError_t cudaMallocManaged(void**, size_t, unsigned) {
  return call("cudaMallocManaged", [] { return cudaErrorNotSupported; });
}
cudaError_t cudaMemPrefetchAsync(const void*, size_t, cudaMemLocation, unsigned, cudaStream_t) {
  return call("cudaMemPrefetchAsync", [] { return cudaErrorNotSupported; });
}

cudaError_t cudaMemGetInfo(size_t* left, size_t* total) {
  return call("cudaMemGetInfo", [&] {
    if (!left || !total) return cudaErrorInvalidValue;
    const uint64_t used = cardState(visibleCards()[currentCard()]).used;
    *total = configuration().memory;
    *left = used < *total ? *total - used : 0;
    return cudaSuccess;
  });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* address) {
  return call("cudaPointerGetAttributes", [&] {
    if (!attributes) return cudaErrorInvalidValue;
    *attributes = attributesOf(address);
    return cudaSuccess;
  });
}

cudaError_t cudaHostAlloc(void** address, size_t bytes, unsigned flags) {
  return call("cudaHostAlloc", [&] {
    if (!address) return cudaErrorInvalidValue;
    return safely([&] { return allocateHost(bytes, flags, address); });
  });
}
cudaError_t cudaMallocHost(void** address, size_t bytes) {
  return call("cudaMallocHost", [&] {
    if (!address) return cudaErrorInvalidValue;
    return safely([&] { return allocateHost(bytes, cudaHostAllocDefault, address); });
  });
}
cudaError_t cudaFreeHost(void* address) {
  return call("cudaFreeHost", [&] { return safely([&] { return freeHost(address); }); });
}
cudaError_t cudaHostRegister(void* address, size_t bytes, unsigned flags) {
  return call("cudaHostRegister", [&] { return safely([&] { return registerHost(address, bytes, flags); }); });
}
cudaError_t cudaHostUnregister(void* address) {
  return call("cudaHostUnregister", [&] { return safely([&] { return unregisterHost(address); }); });
}
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  return call("cudaHostGetDevicePointer", [&] {
    if (!device || !hostRange(host)) return cudaErrorInvalidValue;
    *device = host;
    return cudaSuccess;
  });
}

}  // extern "C"
