#include "nullgpu/core/counters_api.h"

#include <algorithm>
#include <cstring>

#include "nullgpu/core/activity.h"

namespace nullgpu {
namespace {

nullgpu_traffic copies(const Counters& counted, Work work) {
  const Traffic& of = counted.copies[size_t(work)];
  return {of.calls, of.bytes};
}

nullgpu_counts all() {
  const Counters counted = counters();
  nullgpu_counts result{};
  result.launches = counted.launches;
  result.allocations = counted.allocations;
  result.synchronizations = counted.synchronizations;
  result.to_card = copies(counted, Work::HostToDevice);
  result.from_card = copies(counted, Work::DeviceToHost);
  result.within_card = copies(counted, Work::DeviceToDevice);
  result.between_cards = copies(counted, Work::PeerToPeer);
  result.sets = copies(counted, Work::Set);
  nullgpu_collective* next = result.collectives;
  for (const auto& [name, of] : counted.collectives)  // of which there are fewer kinds than places
    if (next != std::end(result.collectives)) *next++ = {name.data(), of.calls, of.bytes};
  return result;
}

}  // namespace
}  // namespace nullgpu

int nullgpu_counters(struct nullgpu_counts* counters) {
  if (!counters || counters->size < 2 * sizeof(counters->size)) return -1;
  nullgpu_counts own = nullgpu::all();
  own.size = std::min<uint64_t>(counters->size, sizeof own);
  std::memcpy(counters, &own, own.size);
  return 0;
}
