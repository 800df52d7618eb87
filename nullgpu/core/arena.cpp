// The arenas of a process, which a signal handler searches, hence without a lock.

#include "nullgpu/core/arena.h"

#include <algorithm>
#include <array>
#include <atomic>

#include "nullgpu/core/cards.h"
#include "nullgpu/core/configuration.h"

namespace nullgpu {
namespace {

/// First those of ordinary allocations, by this process's number of the card, then reservations of
/// addresses and memory of other processes. Searched by a signal handler, hence without a lock.
constexpr size_t kMostReservations = 4096;
std::array<std::atomic<Arena*>, kMostCards + kMostReservations> arenas;
/// One more than the last used entry.
std::atomic<size_t> arenas_end{kMostCards};
std::mutex arenas_mutex;

}  // namespace

Arena& arenaOf(unsigned card) {
  if (Arena* known = arenas[card]) return *known;
  const std::lock_guard lock(arenas_mutex);
  // Addresses cost nothing; twice the memory and 1 GiB leave room for gaps between allocations.
  if (!arenas[card]) arenas[card] = new Arena(card, inPages(configuration().memory) * 2 + (size_t{1} << 30));
  return *arenas[card];
}

Arena* arenaAround(const void* address) {
  const size_t end = arenas_end.load(std::memory_order_acquire);
  for (size_t each = 0; each < end; ++each)
    if (Arena* arena = arenas[each].load(std::memory_order_acquire); arena && arena->holds(address)) return arena;
  return nullptr;
}

bool enter(Arena* arena) {
  const std::lock_guard lock(arenas_mutex);
  size_t place = kMostCards;
  while (place < arenas.size() && arenas[place]) ++place;
  if (place == arenas.size()) return false;
  arenas[place] = arena;
  arenas_end = std::max(arenas_end.load(), place + 1);
  return true;
}

void forget(Arena* arena) {
  const std::lock_guard lock(arenas_mutex);
  for (auto& each : arenas)
    if (each == arena) each = nullptr;
  delete arena;
}

}  // namespace nullgpu
