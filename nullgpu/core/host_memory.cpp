// Allocation and registration of page-locked memory: an anonymous mapping, or the caller's memory
// after a look at its rights. A range leaves the table before its memory is unmapped.

#include "nullgpu/core/host_memory.h"

#include <driver_types.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>

#include "nullgpu/core/host_guard.h"
#include "nullgpu/core/host_ranges.h"
#include "nullgpu/core/process.h"

namespace nullgpu {
namespace {

/// Whether all of a range is writable, from /proc/self/maps; nothing if a part is not mapped. If
/// the file cannot be opened the answer is "not writable", which only keeps guards away.
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
    // The lines are sorted by address. Skip those before the range; a gap in front of `at` is
    // unmapped memory.
    if (std::sscanf(line, "%lx-%lx %4s", &from, &to, rights) != 3 || to <= at) continue;
    if (from > at) return std::nullopt;
    if (rights[1] != 'w') writable = false;
    at = to;
  }
  return at >= end ? std::optional(writable) : std::nullopt;
}

/// Takes a range out of the table; ends the process if a copy waits for it.
std::optional<HostRange> remove(void* address, bool registered, const char* deed) {
  return removeHostRange(address, registered,
                         [deed](const HostRange& range) { refuseWaiting(range.begin, range.bytes, deed); });
}

}  // namespace

cudaError_t allocateHost(size_t bytes, void** address) {
  *address = nullptr;
  if (bytes == 0) return cudaSuccess;
  void* memory = mmap(nullptr, inPages(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return cudaErrorMemoryAllocation;
  *address = memory;
  addHostRange({static_cast<char*>(memory), inPages(bytes), false, true});
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
  return addHostRange({begin, bytes, true, *writable}) ? cudaSuccess : cudaErrorHostMemoryAlreadyRegistered;
}

cudaError_t unregisterHost(void* address) {
  if (!address) return cudaErrorInvalidValue;
  return remove(address, true, "unregistered") ? cudaSuccess : cudaErrorHostMemoryNotRegistered;
}

}  // namespace nullgpu
