// Memory of the cards and of the host, and memory pools. Calls that CUDA documents as synchronising
// wait here too, since a program that is correct only because of such a wait must stay correct, and
// one that is slow because of it must be slow.

#include "nullgpu/core/memory.h"

#include <array>
#include <cstring>
#include <map>
#include <mutex>

#include "nullgpu/core/capture.h"
#include "nullgpu/core/cards.h"
#include "nullgpu/core/configuration.h"
#include "nullgpu/core/host_memory.h"
#include "nullgpu/core/machine.h"
#include "nullgpu/core/stream.h"
#include "nullgpu/cudart/call.h"

namespace nullgpu {
namespace {

/// cudaMalloc. If memory is short it waits for the card, whose queued frees may return some.
cudaError_t take(void** address, size_t bytes) {
  if (!address) return cudaErrorInvalidValue;
  return safely([&] { return allocate(currentCard(), bytes, address, [] { synchronizeCard(currentCard()); }); });
}

/// cudaMallocHost and cudaHostAlloc.
cudaError_t takeHost(void** address, size_t bytes) {
  return address ? safely([&] { return allocateHost(bytes, address); }) : cudaErrorInvalidValue;
}

/// cudaFree. It waits for all work of the card, as CUDA's does.
cudaError_t giveBack(void* address) {
  if (!address) return cudaSuccess;
  if (const cudaError_t error = refuseUnsafeCall()) return error;
  const auto card = cardOf(address);
  if (!card || allocationOf(address).begin != address) return cudaErrorInvalidValue;
  const cudaError_t error = synchronizeCard(*card);
  return error ? error : deallocate(address);
}

/// The kind of memory at `address`. Page-locked memory has one address for host and cards.
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

/// The attributes that a program has set for a pool. Each card has one pool and no other can be
/// made. Freed memory returns to the card at once, so a pool never holds a reserve and its
/// attributes have no effect.
using Pool = std::map<cudaMemPoolAttr, uint64_t>;
std::mutex pools_mutex;
std::array<Pool, kMostCards> pools;

/// The pool of a handle; null if it is none.
Pool* poolOf(cudaMemPool_t handle) {
  for (size_t card = 0; card < visibleCards().size(); ++card)
    if (reinterpret_cast<cudaMemPool_t>(&pools[card]) == handle) return &pools[card];
  return nullptr;
}

/// Whether the attribute is an int; all others are 64 bits wide.
bool isFlag(cudaMemPoolAttr attribute) {
  return attribute == cudaMemPoolReuseFollowEventDependencies || attribute == cudaMemPoolReuseAllowOpportunistic ||
         attribute == cudaMemPoolReuseAllowInternalDependencies;
}

size_t sizeOf(cudaMemPoolAttr attribute) { return isFlag(attribute) ? sizeof(int) : sizeof(uint64_t); }

/// Sets an attribute of a pool, or reads it into `value`. Flags are on at first, sizes 0, as in
/// CUDA.
cudaError_t exchangeWish(cudaMemPool_t handle, cudaMemPoolAttr attribute, void* value, bool sets) {
  const std::lock_guard lock(pools_mutex);
  Pool* pool = poolOf(handle);
  if (!pool) return cudaErrorInvalidValue;
  uint64_t& wish = pool->try_emplace(attribute, isFlag(attribute)).first->second;
  std::memcpy(sets ? &wish : value, sets ? value : &wish, sizeOf(attribute));
  return cudaSuccess;
}

cudaError_t refuseStranger(cudaMemPool_t pool) { return poolOf(pool) ? cudaSuccess : cudaErrorInvalidValue; }

}  // namespace
}  // namespace nullgpu

using namespace nullgpu;

extern "C" {

NULLGPU_CALL(cudaMalloc, (void** address, size_t bytes), take(address, bytes))
NULLGPU_CALL(cudaFree, (void* address), giveBack(address))

/// cudaMallocAsync. In a capture CUDA makes it a node of the graph; the null GPU has no such nodes.
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
    // Queued work may still use the memory, so it goes back when the stream gets there.
    return enqueue(stream, std::make_shared<FunctionOperation>([address] { return deallocate(address), true; }));
  });
}

/// Null cards have no managed memory. bitsandbytes needs it only for paged optimisers, but cannot
/// be loaded without these names.
NULLGPU_CALL(cudaMallocManaged, (void**, size_t, unsigned), cudaErrorNotSupported)
NULLGPU_CALL(cudaMemPrefetchAsync, (const void*, size_t, cudaMemLocation, unsigned, cudaStream_t),
             cudaErrorNotSupported)

cudaError_t cudaMemGetInfo(size_t* left, size_t* total) {
  return call("cudaMemGetInfo", [&] {
    if (!left || !total) return cudaErrorInvalidValue;
    // Counts all processes of the machine, as a real card does.
    const uint64_t used = machine().state(visibleCards()[currentCard()]).used;
    *total = configuration().memory;
    *left = used < *total ? *total - used : 0;
    return cudaSuccess;
  });
}

/// Writes only the fields that CUDA 12's structure has, too. CUDA 13's has room for later ones behind them.
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* address) {
  return call("cudaPointerGetAttributes", [&] {
    if (!attributes) return cudaErrorInvalidValue;
    const cudaPointerAttributes found = attributesOf(address);
    std::memcpy(attributes, &found, offsetof(cudaPointerAttributes, reserved));
    return cudaSuccess;
  });
}

NULLGPU_CALL(cudaHostAlloc, (void** address, size_t bytes, unsigned), takeHost(address, bytes))
NULLGPU_CALL(cudaMallocHost, (void** address, size_t bytes), takeHost(address, bytes))
NULLGPU_CALL(cudaFreeHost, (void* address), safely([&] { return freeHost(address); }))
NULLGPU_CALL(cudaHostRegister, (void* address, size_t bytes, unsigned),
             safely([&] { return registerHost(address, bytes); }))
NULLGPU_CALL(cudaHostUnregister, (void* address), safely([&] { return unregisterHost(address); }))

NULLGPU_CALL(cudaDeviceGetDefaultMemPool, (cudaMemPool_t * pool, int device),
             !pool            ? cudaErrorInvalidValue
             : isCard(device) ? give(pool, reinterpret_cast<cudaMemPool_t>(&pools[size_t(device)]))
                              : cudaErrorInvalidDevice)
NULLGPU_CALL(cudaMemPoolGetAttribute, (cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value),
             exchangeWish(pool, attribute, value, false))
NULLGPU_CALL(cudaMemPoolSetAttribute, (cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value),
             exchangeWish(pool, attribute, value, true))
/// Every card can use every other card's memory, so only the handle is checked.
NULLGPU_CALL(cudaMemPoolSetAccess, (cudaMemPool_t pool, const cudaMemAccessDesc*, size_t), refuseStranger(pool))
NULLGPU_CALL(cudaMemPoolTrimTo, (cudaMemPool_t pool, size_t), refuseStranger(pool))

}  // extern "C"
