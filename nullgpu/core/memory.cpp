// Memory of the cards: one sparse file (memfd) per card, mapped twice. The mapping that the program
// gets has no access rights, so a touch by the host faults (host_guard.cpp explains it); the inner
// mapping is ours. A model of many GiB thus fits a small host, because holes in the file take no
// memory. Most functions below exist to keep these holes: a read through a mapping would fill them.

#include "nullgpu/core/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <string>

#include "nullgpu/core/activity.h"
#include "nullgpu/core/cards.h"
#include "nullgpu/core/configuration.h"
#include "nullgpu/core/machine.h"
#include "nullgpu/core/process.h"
#include "nullgpu/core/record.h"
#include "nullgpu/core/words.h"

namespace nullgpu {
namespace {

/// One card's memory: the sparse file, its two mappings, and the table of allocations. Offsets
/// count from the beginning of the file.
class Arena {
 public:
  explicit Arena(unsigned card) : card_(card) {
    // Addresses cost nothing; twice the memory and 1 GiB leave room for gaps between allocations.
    span_ = inPages(configuration().memory) * 2 + (size_t{1} << 30);
    file_ = memfd_create("nullgpu", MFD_CLOEXEC);
    if (file_ < 0 || ftruncate(file_, off_t(span_)) != 0) fail();
    inside_ = map(PROT_READ | PROT_WRITE);
    shown_ = map(PROT_NONE);
  }

  /// Read without the lock: these do not change after the constructor.
  unsigned card() const { return card_; }
  bool holds(const void* address) const { return address >= shown_ && address < shown_ + span_; }
  char* inside(const void* address) const { return inside_ + offset(address); }
  size_t offset(const void* address) const { return size_t(static_cast<const char*>(address) - shown_); }
  int file() const { return file_; }

  /// Reserves addresses for `bytes`; null if no gap is large enough. Searches on from the previous
  /// allocation and starts over at 0 (next fit).
  void* take(size_t bytes) {
    const std::lock_guard lock(mutex_);
    const size_t wanted = inPages(bytes);
    auto gap = gapFrom(next_, wanted);
    if (!gap) gap = gapFrom(0, wanted);
    if (!gap) return nullptr;
    taken_[*gap] = bytes;
    held_ += wanted;
    next_ = *gap + wanted;
    return shown_ + *gap;
  }

  /// Frees the allocation that begins at `address`. @returns its size in whole pages; 0 if none
  /// begins there.
  size_t giveBack(void* address) {
    const std::lock_guard lock(mutex_);
    const auto found = taken_.find(offset(address));
    if (found == taken_.end()) return 0;
    const size_t bytes = inPages(found->second);
    clear(found->first, bytes);
    taken_.erase(found);
    held_ -= bytes;
    return bytes;
  }

  /// Punches a hole: the pages go back to the host and read as zeros afterwards.
  void clear(size_t from, size_t bytes) { madvise(inside_ + from, bytes, MADV_REMOVE); }

  /// The allocation that contains `address`, if any.
  Allocation around(const void* address) {
    const std::lock_guard lock(mutex_);
    const size_t at = offset(address);
    auto found = taken_.upper_bound(at);
    if (found == taken_.begin()) return {};
    --found;
    return at < found->first + found->second ? Allocation{shown_ + found->first, found->second} : Allocation{};
  }

  /// Bytes of all allocations, in whole pages.
  uint64_t held() {
    const std::lock_guard lock(mutex_);
    return held_;
  }

 private:
  [[noreturn]] void fail() const {
    refuse("card " + std::to_string(card_) + ": no " + std::to_string(span_) +
           " bytes of addresses can be had for its memory: " + std::strerror(errno) + "; lower NULLGPU_MEMORY");
  }
  char* map(int protection) const {
    void* address = mmap(nullptr, span_, protection, MAP_SHARED | MAP_NORESERVE, file_, 0);
    if (address == MAP_FAILED) fail();
    // A child has no use of its parent's cards (CUDA forbids them after a fork), and a core dump of
    // a sparse card would be as large as the card.
    madvise(address, span_, MADV_DONTFORK);
    madvise(address, span_, MADV_DONTDUMP);
    return static_cast<char*>(address);
  }
  /// The first gap of `bytes` from offset `from` on. With next fit, addresses are reused as late as
  /// possible: a program that uses freed memory reads zeros for long instead of another tensor's
  /// values.
  std::optional<size_t> gapFrom(size_t from, size_t bytes) const {
    auto after = taken_.lower_bound(from);
    if (after != taken_.begin()) from = std::max(from, std::prev(after)->first + inPages(std::prev(after)->second));
    for (; after != taken_.end(); ++after) {
      if (after->first - from >= bytes) return from;
      from = after->first + inPages(after->second);
    }
    return span_ - from >= bytes ? std::optional(from) : std::nullopt;
  }

  unsigned card_;
  size_t span_ = 0, next_ = 0;
  int file_ = -1;
  char* inside_ = nullptr;
  char* shown_ = nullptr;
  std::mutex mutex_;
  // Allocations by offset, with the bytes as requested.
  std::map<size_t, size_t> taken_;
  uint64_t held_ = 0;
};

/// Indexed by this process's number of the card. Made at the first use and never destroyed, so that
/// a signal handler can search them without a lock.
std::array<std::atomic<Arena*>, kMostCards> arenas;
std::mutex arenas_mutex;
std::atomic<uint64_t> allocations{0};

/// The card's arena, made if needed.
Arena& arenaOf(unsigned card) {
  if (Arena* known = arenas[card]) return *known;
  const std::lock_guard lock(arenas_mutex);
  if (!arenas[card]) arenas[card] = new Arena(card);
  return *arenas[card];
}

/// The arena whose addresses contain `address`; null for memory of the host.
Arena* arenaAround(const void* address) {
  for (const auto& each : arenas)
    if (Arena* arena = each.load(std::memory_order_acquire); arena && arena->holds(address)) return arena;
  return nullptr;
}

/// Counts an allocation, and decides whether a fault on demand makes it fail.
bool isWanting(unsigned card, size_t bytes) {
  const Faults& faults = configuration().faults;
  const uint64_t number = ++allocations;
  countAllocation();
  if (faults.allocation && number >= *faults.allocation) return true;
  return faults.memory && arenaOf(card).held() + inPages(bytes) > *faults.memory;
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
  const unsigned number = visibleCards()[card];
  const bool wanting = isWanting(card, bytes);
  cudaError_t error = wanting ? cudaErrorMemoryAllocation : allocateQuietly(card, bytes, address);
  if (error && !wanting && wait) {
    wait();
    error = allocateQuietly(card, bytes, address);
  }
  if (error)
    recordRefused(number, inPages(bytes), machine().state(number).used);
  else
    recordGranted(number, inPages(bytes));
  return error;
}

cudaError_t deallocate(void* address) {
  Arena* arena = arenaAround(address);
  const size_t bytes = arena ? arena->giveBack(address) : 0;
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
