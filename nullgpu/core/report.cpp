#include "nullgpu/core/report.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "nullgpu/core/activity.h"

namespace nullgpu {

void reportIfAsked() {
  const char* wish = std::getenv("NULLGPU_REPORT");
  if (!wish || std::string_view(wish) != "1") return;
  const Counters counted = counters();
  const auto number = [](uint64_t count) { return static_cast<unsigned long>(count); };
  const auto copies = [&](Work work) { return number(counted.copies[size_t(work)].calls); };
  const auto bytes = [&](Work work) { return number(counted.copies[size_t(work)].bytes); };
  uint64_t collectives = 0;
  for (const auto& [name, traffic] : counted.collectives) collectives += traffic.calls;
  std::fprintf(
      stderr,
      "nullgpu: process %d: %lu launches, %lu allocations, %lu collectives; copies (bytes): to cards %lu (%lu), "
      "from cards %lu (%lu), within %lu (%lu), between %lu (%lu), sets %lu (%lu); the host waited %lu times\n",
      int(getpid()), number(counted.launches), number(counted.allocations), number(collectives),
      copies(Work::HostToDevice), bytes(Work::HostToDevice), copies(Work::DeviceToHost), bytes(Work::DeviceToHost),
      copies(Work::DeviceToDevice), bytes(Work::DeviceToDevice), copies(Work::PeerToPeer), bytes(Work::PeerToPeer),
      copies(Work::Set), bytes(Work::Set), number(counted.synchronizations));
}

}  // namespace nullgpu
