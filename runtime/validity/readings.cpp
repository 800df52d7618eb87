#include "runtime/validity/readings.h"

#include <algorithm>

#include "runtime/plan/json_record.h"

namespace expc::validity {
namespace {

void describeGpu(plan::JsonRecord& io, GpuReadings& gpu) {
  io.field("index", gpu.index);
  io.field("looks", gpu.looks);
  io.optional("throttled", gpu.throttled);
  io.optional("reasons", gpu.reasons);
  std::vector<unsigned> mhz;
  if (gpu.clock_most > 0) mhz = {gpu.clock_least, gpu.clock_most};
  io.optional("mhz", mhz);
  if (mhz.size() == 2) gpu.clock_least = mhz[0], gpu.clock_most = mhz[1];
  io.field("celsius", gpu.celsius_most);
  io.field("watts", gpu.watts_most);
  io.optional("joules", gpu.joules);
  io.optional("ecc_errors", gpu.ecc_errors);
  io.optional("others", gpu.others);
}

/// What one machine does not tell, the other may.
template <typename T, typename Join>
void join(std::optional<T>& one, const std::optional<T>& other, Join both) {
  if (one && other)
    one = both(*one, *other);
  else if (other)
    one = other;
}

}  // namespace

void describe(plan::JsonRecord& io, Readings& readings) {
  io.field("seconds", readings.seconds);
  io.optional("other_cpu", readings.other_cpu);
  io.optional("busy_others", readings.busy_others);
  io.optional("load", readings.load);
  io.optional("swapped", readings.swapped);
  io.optional("page_faults", readings.page_faults);
  io.optional("pressure", readings.pressure);
  io.optional("mhz_most", readings.mhz_most);
  io.optional("mhz_least", readings.mhz_least);
  io.optional("joules", readings.joules);
  if (io.has("gpus", !readings.gpus.empty())) io.list("gpus", readings.gpus, describeGpu);
}

std::optional<double> energyOf(const Readings& readings) {
  std::optional<double> joules = readings.joules;
  if (!readings.gpus.empty()) {
    joules = 0;
    for (const GpuReadings& gpu : readings.gpus) {
      if (!gpu.joules) return std::nullopt;
      *joules += *gpu.joules;
    }
  }
  return joules.value_or(0) > 0 ? joules : std::nullopt;
}

Readings together(const Readings& one, const Readings& other) {
  constexpr auto most = [](auto a, auto b) { return std::max(a, b); };
  constexpr auto least = [](auto a, auto b) { return std::min(a, b); };
  constexpr auto sum = [](auto a, auto b) { return a + b; };
  Readings both = one;
  both.seconds = std::max(one.seconds, other.seconds);
  join(both.other_cpu, other.other_cpu, most);
  join(both.load, other.load, most);
  join(both.swapped, other.swapped, sum);
  join(both.page_faults, other.page_faults, sum);
  join(both.pressure, other.pressure, most);
  join(both.mhz_most, other.mhz_most, most);
  join(both.mhz_least, other.mhz_least, least);
  join(both.joules, other.joules, sum);
  both.busy_others.insert(both.busy_others.end(), other.busy_others.begin(), other.busy_others.end());
  both.gpus.insert(both.gpus.end(), other.gpus.begin(), other.gpus.end());
  return both;
}

}  // namespace expc::validity
