#pragma once

// Addresses of a card, behind memory.h: the sparse file and its two mappings. The mapping that the
// program gets has no access rights, so a touch by the host faults (host_guard.cpp explains it); the
// inner mapping is ours. A model of many GiB thus fits a small host, because holes in the file take
// no memory.

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "nullgpu/core/allocation.h"
#include "nullgpu/core/process.h"
#include "nullgpu/core/words.h"

namespace nullgpu {

/// Addresses of one card: a sparse file, its two mappings, and the table of allocations. Offsets
/// count from the beginning of the file.
class Arena {
 public:
  /// Maps `file`, which has `span` bytes, or a new file for -1. Ends the process if there are no
  /// such addresses.
  Arena(unsigned card, size_t span, int file = -1) : card_(card), span_(span), file_(file) {
    if (file_ < 0) file_ = memfd_create("nullgpu", MFD_CLOEXEC);
    if (file_ < 0 || (file < 0 && ftruncate(file_, off_t(span_)) != 0)) fail();
    inside_ = map(PROT_READ | PROT_WRITE);
    shown_ = map(PROT_NONE);
  }
  ~Arena() {
    munmap(inside_, span_);
    munmap(shown_, span_);
    close(file_);
  }

  /// Read without the lock: these do not change after the constructor.
  unsigned card() const { return card_; }
  size_t span() const { return span_; }
  char* begin() const { return shown_; }
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

  /// Enters an allocation at an offset. One that touches others becomes one with them, since copies
  /// may cross the border.
  void place(size_t at, size_t bytes) {
    const std::lock_guard lock(mutex_);
    auto after = taken_.lower_bound(at);
    if (after != taken_.end() && after->first == at + bytes) bytes += after->second, after = taken_.erase(after);
    if (after != taken_.begin() && std::prev(after)->first + std::prev(after)->second == at)
      std::prev(after)->second += bytes;
    else
      taken_[at] = bytes;
  }

  /// Removes a part of what place() entered. @returns whether it was there
  bool remove(size_t at, size_t bytes) {
    const std::lock_guard lock(mutex_);
    auto found = taken_.upper_bound(at);
    if (found == taken_.begin()) return false;
    --found;
    const size_t begin = found->first, end = begin + found->second;
    if (at + bytes > end) return false;
    taken_.erase(found);
    if (at > begin) taken_[begin] = at - begin;
    if (end > at + bytes) taken_[at + bytes] = end - at - bytes;
    clear(at, bytes);
    return true;
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
    refuse("card ", card_, ": no ", span_, " bytes of addresses can be had for its memory: ", std::strerror(errno),
           "; lower NULLGPU_MEMORY");
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
  size_t span_, next_ = 0;
  int file_;
  char* inside_ = nullptr;
  char* shown_ = nullptr;
  std::mutex mutex_;
  // Allocations by offset, with the bytes as requested.
  std::map<size_t, size_t> taken_;
  uint64_t held_ = 0;
};

/// The arena whose addresses contain `address`; null for memory of the host. Takes no lock.
Arena* arenaAround(const void* address);
/// The arena of a card's ordinary allocations, made if needed.
Arena& arenaOf(unsigned card);
/// Makes the addresses of an arena known to arenaAround(), or forgets and frees it.
/// @returns false if there are too many
bool enter(Arena* arena);
void forget(Arena* arena);

}  // namespace nullgpu
