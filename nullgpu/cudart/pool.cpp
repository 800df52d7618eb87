// Memory pools: each card has its own one, and no other can be made. What is given back goes to the card at once, so a
// pool never holds anything in reserve.

#include <array>
#include <map>
#include <mutex>

#include "nullgpu/core/cards.h"
#include "nullgpu/cudart/call.h"

namespace nullgpu {
namespace {

std::mutex mutex;
struct Pool {
  std::map<cudaMemPoolAttr, uint64_t> wishes;
};
std::array<Pool, kMostCards> pools;

Pool* poolOf(cudaMemPool_t handle) {
  for (size_t card = 0; card < visibleCards().size(); ++card)
    if (reinterpret_cast<cudaMemPool_t>(&pools[card]) == handle) return &pools[card];
  return nullptr;
}

/// The kinds of reuse are int, sizes 64 bits.
bool isFlag(cudaMemPoolAttr attribute) {
  return attribute == cudaMemPoolReuseFollowEventDependencies || attribute == cudaMemPoolReuseAllowOpportunistic ||
         attribute == cudaMemPoolReuseAllowInternalDependencies;
}

cudaError_t read(const Pool& pool, cudaMemPoolAttr attribute, void* value) {
  const auto wish = pool.wishes.find(attribute);
  const uint64_t known = wish != pool.wishes.end() ? wish->second : isFlag(attribute) ? 1 : 0;
  if (isFlag(attribute)) {
    *static_cast<int*>(value) = int(known);
  } else {
    *static_cast<uint64_t*>(value) = known;
  }
  return cudaSuccess;
}

cudaError_t write(Pool& pool, cudaMemPoolAttr attribute, const void* value) {
  pool.wishes[attribute] =
      isFlag(attribute) ? uint64_t(*static_cast<const int*>(value)) : *static_cast<const uint64_t*>(value);
  return cudaSuccess;
}

cudaError_t with(const char* name, cudaMemPool_t handle, auto body) {
  return call(name, [&] {
    const std::lock_guard lock(nullgpu::mutex);
    Pool* pool = poolOf(handle);
    return pool ? body(*pool) : cudaErrorInvalidValue;
  });
}

}  // namespace
}  // namespace nullgpu

using namespace nullgpu;

extern "C" {

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  return call("cudaDeviceGetDefaultMemPool", [&] {
    if (!pool) return cudaErrorInvalidValue;
    if (device < 0 || size_t(device) >= visibleCards().size()) return cudaErrorInvalidDevice;
    *pool = reinterpret_cast<cudaMemPool_t>(&pools[size_t(device)]);
    return cudaSuccess;
  });
}
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  return with("cudaMemPoolGetAttribute", pool, [&](const Pool& own) { return read(own, attribute, value); });
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  return with("cudaMemPoolSetAttribute", pool, [&](Pool& own) { return write(own, attribute, value); });
}
/// Every card reaches every other's memory.
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc*, size_t) {
  return with("cudaMemPoolSetAccess", pool, [](const Pool&) { return cudaSuccess; });
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t) {
  return with("cudaMemPoolTrimTo", pool, [](const Pool&) { return cudaSuccess; });
}

}  // extern "C"
