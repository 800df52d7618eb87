#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "nullgpu/core/activity.h"
#include "nullgpu/core/counters_api.h"

namespace nullgpu {

void reportIfAsked() {
  const char* wish = std::getenv("NULLGPU_REPORT");
  if (!wish || std::string_view(wish) != "1") return;
  nullgpu_counts counts{};
  counts.size = sizeof counts;
  nullgpu_counters(&counts);
  uint64_t collectives = 0;
  for (const nullgpu_collective& each : counts.collectives) collectives += each.calls;
  std::fprintf(
      stderr,
      "nullgpu: process %d: %lu launches, %lu allocations, %lu collectives; copies (bytes): to cards %lu (%lu), "
      "from cards %lu (%lu), within %lu (%lu), between %lu (%lu), sets %lu (%lu); the host waited %lu times\n",
      int(getpid()), counts.launches, counts.allocations, collectives, counts.to_card.calls, counts.to_card.bytes,
      counts.from_card.calls, counts.from_card.bytes, counts.within_card.calls, counts.within_card.bytes,
      counts.between_cards.calls, counts.between_cards.bytes, counts.sets.calls, counts.sets.bytes,
      counts.synchronizations);
}

}  // namespace nullgpu
