#include "nullgpu/core/host_memory.h"

#include <driver_types.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>

#include "nullgpu/core/host_guard.h"
#include "nullgpu/core/process.h"

namespace nullgpu {
namespace {

std::shared_mutex ranges_mutex;
std::map<const char*, HostRange> ranges;  // by their ends

/// The first range that ends behind `address`.
auto after(const char* address) { return ranges.upper_bound(address); }

/// Whether all of a range may be written; nothing where a part of it is not mapped.
std::optional<bool> isWritable(const char* begin, size_t bytes) {
  const std::unique_ptr<FILE, int (*)(FILE*)> maps(std::fopen("/proc/self/maps", "re"), std::fclose);
  bool writable = true;
  if (!maps) return false;
  auto at = reinterpret_cast<uintptr_t>(begin);
  const uintptr_t end = at + bytes;
  char line[512];
  while (at < end && std::fgets(line, sizeof line, maps.get())) {
    unsigned long from = 0, to = 0;
    char rights[5] = {};
    if (std::sscanf(line, "%lx-%lx %4s", &from, &to, rights) != 3 || to <= at) continue;
    if (from > at) return std::nullopt;
    if (rights[1] != 'w') writable = false;
    at = to;
  }
  return at >= end ? std::optional(writable) : std::nullopt;
}

/// Takes a range that begins at `address` out; a copy that waits for it ends the process.
std::optional<HostRange> remove(void* address, bool registered, const char* deed) {
  const std::unique_lock lock(ranges_mutex);
  const auto found = after(static_cast<const char*>(address));
  if (found == ranges.end() || found->second.begin != address || found->second.registered != registered)
    return std::nullopt;
  const HostRange range = found->second;
  refuseWaiting(range.begin, range.bytes, deed);
  ranges.erase(found);
  return range;
}

}  // namespace

cudaError_t allocateHost(size_t bytes, void** address) {
  *address = nullptr;
  if (bytes == 0) return cudaSuccess;
  void* memory = mmap(nullptr, inPages(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return cudaErrorMemoryAllocation;
  *address = memory;
  const std::unique_lock lock(ranges_mutex);
  auto* begin = static_cast<char*>(memory);
  ranges[begin + inPages(bytes)] = {begin, inPages(bytes), false, true};
  return cudaSuccess;
}

cudaError_t freeHost(void* address) {
  if (!address) return cudaSuccess;
  const auto range = remove(address, false, "freed");
  if (!range) return cudaErrorInvalidValue;
  munmap(range->begin, range->bytes);
  return cudaSuccess;
}

cudaError_t registerHost(void* address, size_t bytes) {
  auto* begin = static_cast<char*>(address);
  if (!begin || bytes == 0) return cudaErrorInvalidValue;
  const std::optional<bool> writable = isWritable(begin, bytes);
  if (!writable) return cudaErrorInvalidValue;
  const std::unique_lock lock(ranges_mutex);
  const auto next = after(begin);
  if (next != ranges.end() && next->second.begin < begin + bytes) return cudaErrorHostMemoryAlreadyRegistered;
  ranges[begin + bytes] = {begin, bytes, true, *writable};
  return cudaSuccess;
}

cudaError_t unregisterHost(void* address) {
  if (!address) return cudaErrorInvalidValue;
  return remove(address, true, "unregistered") ? cudaSuccess : cudaErrorHostMemoryNotRegistered;
}

std::optional<HostRange> hostRange(const void* address, size_t bytes) {
  const std::shared_lock lock(ranges_mutex);
  const auto* from = static_cast<const char*>(address);
  const auto found = after(from);
  const bool holds = found != ranges.end() && from >= found->second.begin && from + bytes <= found->first;
  return holds ? std::optional(found->second) : std::nullopt;
}

}  // namespace nullgpu
