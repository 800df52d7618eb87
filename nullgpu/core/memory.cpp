// Memory of the cards, in sparse files (arena.h). Most functions below exist to keep their holes: a
// read through a mapping would fill them.

#include "nullgpu/core/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "nullgpu/core/activity.h"
#include "nullgpu/core/arena.h"
#include "nullgpu/core/cards.h"
#include "nullgpu/core/configuration.h"
#include "nullgpu/core/machine.h"
#include "nullgpu/core/process.h"
#include "nullgpu/core/record.h"

namespace nullgpu {
namespace {

std::atomic<uint64_t> allocations{0};
/// Bytes of each card, by this process's number, that virtual memory holds.
std::array<std::atomic<uint64_t>, kMostCards> virtual_bytes;

/// Counts an allocation, and decides whether a fault on demand makes it fail.
bool isWanting(unsigned card, size_t bytes) {
  const Faults& faults = configuration().faults;
  const uint64_t number = ++allocations;
  countAllocation();
  if (faults.allocation && number >= *faults.allocation) return true;
  return faults.memory && arenaOf(card).held() + virtual_bytes[card] + inPages(bytes) > *faults.memory;
}

/// Makes a request for memory: counts it, lets `take` try twice if memory is short, and records how
/// it ended.
template <typename Take>
cudaError_t request(unsigned card, size_t bytes, const std::function<void()>& wait, const Take& take) {
  const unsigned number = visibleCards()[card];
  const bool wanting = isWanting(card, bytes);
  cudaError_t error = wanting ? cudaErrorMemoryAllocation : take();
  if (error && !wanting && wait) {
    wait();
    error = take();
  }
  if (error)
    recordRefused(number, inPages(bytes), machine().state(number).used);
  else
    recordGranted(number, inPages(bytes));
  return error;
}

}  // namespace

cudaError_t allocateQuietly(unsigned card, size_t bytes, void** address) {
  *address = nullptr;
  if (bytes > configuration().memory) return cudaErrorMemoryAllocation;
  Arena& arena = arenaOf(card);
  // Reserve on the shared machine first, because other processes may hold the rest of the card.
  if (!machine().reserve(visibleCards()[card], inPages(bytes))) return cudaErrorMemoryAllocation;
  *address = arena.take(bytes);
  if (*address) return cudaSuccess;
  machine().release(visibleCards()[card], inPages(bytes));
  return cudaErrorMemoryAllocation;
}

cudaError_t allocate(unsigned card, size_t bytes, void** address, const std::function<void()>& wait) {
  *address = nullptr;
  if (bytes == 0) return cudaSuccess;
  return request(card, bytes, wait, [&] { return allocateQuietly(card, bytes, address); });
}

cudaError_t takeMemory(unsigned card, size_t bytes) {
  return request(card, bytes, {}, [&] {
    if (!machine().reserve(visibleCards()[card], inPages(bytes))) return cudaErrorMemoryAllocation;
    virtual_bytes[card] += inPages(bytes);
    return cudaSuccess;
  });
}

void returnMemory(unsigned card, size_t bytes) {
  virtual_bytes[card] -= inPages(bytes);
  machine().release(visibleCards()[card], inPages(bytes));
}

cudaError_t deallocate(void* address) {
  Arena* arena = arenaAround(address);
  const size_t bytes = arena && arena == &arenaOf(arena->card()) ? arena->giveBack(address) : 0;
  if (bytes == 0) return cudaErrorInvalidValue;
  machine().release(visibleCards()[arena->card()], bytes);
  return cudaSuccess;
}

Allocation allocationOf(const void* address) {
  Arena* arena = arenaAround(address);
  return arena ? arena->around(address) : Allocation{};
}

std::optional<unsigned> cardOf(const void* address) {
  const Arena* arena = arenaAround(address);
  return arena ? std::optional(arena->card()) : std::nullopt;
}

void* reachable(const void* address) {
  const Arena* arena = arenaAround(address);
  return arena ? arena->inside(address) : const_cast<void*>(address);
}

/// Uses pread and not the mapping: reading a hole through a mapping would allocate its pages.
void readCard(void* host, const void* address, size_t bytes) {
  const Arena& arena = *arenaAround(address);
  auto* to = static_cast<char*>(host);
  const char* const end = to + bytes;
  for (auto from = off_t(arena.offset(address)); to < end;) {
    const ssize_t read = pread(arena.file(), to, size_t(end - to), from);
    if (read <= 0) break;
    to += read;
    from += read;
  }
  // pread stops where the host's buffer is not writable. Copying the rest the ordinary way raises
  // the same fault as any bad access, at its address.
  std::memcpy(to, arena.inside(address) + (to - static_cast<char*>(host)), size_t(end - to));
}

/// Uses pwrite, because writing through a mapping costs a page fault for each new page. Small
/// writes touch few pages and save the call.
void writeCard(void* address, const void* host, size_t bytes) {
  const Arena& arena = *arenaAround(address);
  const auto* from = static_cast<const char*>(host);
  const char* const end = from + bytes;
  for (auto to = off_t(arena.offset(address)); from < end && bytes >= kPage;) {
    const ssize_t written = pwrite(arena.file(), from, size_t(end - from), to);
    if (written <= 0) break;
    from += written;
    to += written;
  }
  std::memcpy(arena.inside(address) + (from - static_cast<const char*>(host)), from, size_t(end - from));
}

void setCard(void* address, int value, size_t bytes) {
  Arena& arena = *arenaAround(address);
  const size_t begin = arena.offset(address), end = begin + bytes;
  const size_t first = inPages(begin), last = end / kPage * kPage;
  // Zeros need no pages: clear whole pages by punching a hole, and write only the edges.
  if (static_cast<unsigned char>(value) != 0 || first >= last) {
    std::memset(arena.inside(address), value, bytes);
    return;
  }
  std::memset(arena.inside(address), 0, first - begin);
  arena.clear(first, last - first);
  std::memset(arena.inside(address) + (last - begin), 0, end - last);
}

/// Copies only ranges that were written (SEEK_DATA, SEEK_HOLE); for holes it sets the target to
/// zeros, which makes holes there too. Small copies are not worth the system calls.
void copyBetweenCards(void* to, const void* from, size_t bytes) {
  const Arena& source = *arenaAround(from);
  const off_t begin = off_t(source.offset(from)), end = begin + off_t(bytes);
  auto* target = static_cast<char*>(to);
  if (bytes < 16 * kPage) {
    std::memmove(reachable(to), source.inside(from), bytes);
    return;
  }
  for (off_t at = begin; at < end;) {
    off_t data = lseek(source.file(), at, SEEK_DATA);
    if (data < 0 || data > end) data = end;
    if (data > at) setCard(target + (at - begin), 0, size_t(data - at));
    off_t hole = data < end ? lseek(source.file(), data, SEEK_HOLE) : end;
    if (hole < 0 || hole > end) hole = end;
    writeCard(target + (data - begin), source.inside(from) + (data - begin), size_t(hole - data));
    at = hole;
  }
}

}  // namespace nullgpu
