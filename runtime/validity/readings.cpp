// Readings: their JSON form, how readings of several machines combine, and the comparison with the limits of a design,
// with texts for people.

#include "runtime/validity/readings.h"

#include <llvm/ADT/StringExtras.h>

#include <algorithm>

#include "runtime/base/format.h"
#include "runtime/base/json_record.h"
#include "runtime/base/text.h"
#include "runtime/plan/command.h"

namespace expc::validity {

static void describe(JsonRecord& io, GpuReadings& gpu) {
  io.required(EXPC_NAMED(gpu, index, looks));
  io.optional(EXPC_NAMED(gpu, throttled, reasons));
  // JSON has the clocks as one pair [least, most]; absent if none was seen.
  std::vector<unsigned> mhz;
  if (gpu.clock_most > 0) mhz = {gpu.clock_least, gpu.clock_most};
  io.optional("mhz", mhz);
  if (mhz.size() == 2) gpu.clock_least = mhz[0], gpu.clock_most = mhz[1];
  io.required("celsius", gpu.celsius_most, "watts", gpu.watts_most);
  io.optional(EXPC_NAMED(gpu, joules, ecc_errors, others));
}

static void describe(JsonRecord& io, Samples& samples) { io.optional(EXPC_NAMED(samples, host, device, busy, served)); }

namespace {

/// Combines the samples of two machines, moment by moment.
void joinSamples(std::vector<double>& one, const std::vector<double>& other, auto both) {
  for (size_t i = 0; i < other.size(); ++i)
    if (i < one.size())
      one[i] = both(one[i], other[i]);
    else
      one.push_back(other[i]);
}

/// Combines two optional values; if only one is there, it stands alone.
template <typename T, typename Join>
void join(std::optional<T>& one, const std::optional<T>& other, Join both) {
  if (one && other)
    one = both(*one, *other);
  else if (other)
    one = other;
}

/// An optional count as a number.
std::optional<double> number(const auto& value) { return value ? std::optional(double(*value)) : std::nullopt; }

/// The relative drop of a clock, 0 to 1; absent if no clock was seen.
std::optional<double> drop(double least, double most) {
  return most > 0 ? std::optional(1 - least / most) : std::nullopt;
}

/// The reading of one card that a limit is about.
std::optional<double> ofGpu(const GpuReadings& gpu, std::string_view limit) {
  if (limit == "other_gpu") return double(gpu.others.size());
  if (limit == "throttled" && gpu.looks > 0) return double(gpu.throttled) / gpu.looks;
  if (limit == "ecc_errors") return number(gpu.ecc_errors);
  return limit == "clock_drop" ? drop(gpu.clock_least, gpu.clock_most) : std::nullopt;
}

/// ": a and b" behind a sentence; "" for no names.
std::string colon(const std::vector<std::string>& names) { return names.empty() ? "" : ": " + base::listed(names); }

std::string percent(double share) { return fmt::format("{:.3g} %", share * 100); }
std::string mebibytes(double bytes) { return fmt::format("{:.4g} MiB", bytes / (1 << 20)); }

/// The text about an exceeded limit, with the value and the limit (`most`); for cards it names the first with that
/// value.
std::string textOf(const Readings& readings, std::string_view limit, double value, double most) {
  if (limit == "other_cpu")
    return fmt::format("other processes used {} of the trial's cores (limit {}){}", percent(value), percent(most),
                       colon(readings.busy_others));
  for (const GpuReadings& gpu : readings.gpus) {
    // Exact comparison is right: `value` was taken from one of these cards.
    if (ofGpu(gpu, limit) != value) continue;
    if (limit == "other_gpu") return fmt::format("other processes are on GPU {}{}", gpu.index, colon(gpu.others));
    if (limit == "throttled")
      return fmt::format("GPU {} was throttled in {} of the samples ({})", gpu.index, percent(value),
                         throttleText(gpu.reasons));
    if (limit == "ecc_errors")
      return fmt::format("the memory of GPU {} had {} errors that it could not correct", gpu.index, value);
  }
  if (limit == "clock_drop") return fmt::format("a clock fell by {} (limit {})", percent(value), percent(most));
  if (limit == "swapped") return fmt::format("the machine swapped {} (limit {})", mebibytes(value), mebibytes(most));
  if (limit == "page_faults")
    return fmt::format("the machine read {:.0f} pages from a disk (limit {:.0f})", value, most);
  return fmt::format("memory pressure {} of the time (limit {})", percent(value), percent(most));
}

}  // namespace

void describe(JsonRecord& io, Readings& readings) {
  io.field("seconds", readings.seconds);
  // Absent values are left out, so a reader tells "not known" from 0.
  io.optional(
      EXPC_NAMED(readings, other_cpu, busy_others, load, swapped, page_faults, pressure, mhz_most, mhz_least, joules));
  io.optional(EXPC_NAMED(readings, gpus, samples));
}

const std::vector<double>& Samples::of(std::string_view metric) const {
  return metric == plan::kHostMemory ? host : metric == plan::kDeviceMemory ? device : busy;
}

std::optional<double> energyOf(const Readings& readings) {
  std::optional<double> joules = readings.joules;
  if (!readings.gpus.empty()) {
    // A card without energy makes the sum meaningless, so all must have one.
    joules = 0;
    for (const GpuReadings& gpu : readings.gpus) {
      if (!gpu.joules) return std::nullopt;
      *joules += *gpu.joules;
    }
  }
  return joules.value_or(0) > 0 ? joules : std::nullopt;
}

Readings together(const Readings& one, const Readings& other) {
  // Shares, load and clocks are those of the worse machine, since one disturbed node delays the whole trial; counts and
  // energies add up.
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
  joinSamples(both.samples.host, other.samples.host, sum);
  joinSamples(both.samples.device, other.samples.device, most);
  for (const auto& [metric, bytes] : other.samples.served)
    both.samples.served[metric] = std::max(both.samples.served[metric], bytes);
  const double share = double(one.gpus.size()) / std::max<double>(1, double(both.gpus.size()));
  joinSamples(both.samples.busy, other.samples.busy, [&](double a, double b) { return a * share + b * (1 - share); });
  return both;
}

std::optional<double> valueOf(const Readings& readings, std::string_view limit) {
  if (limit == "other_cpu") return readings.other_cpu;
  if (limit == "swapped") return number(readings.swapped);
  if (limit == "page_faults") return number(readings.page_faults);
  if (limit == "pressure") return readings.pressure;
  // clock_drop concerns cores and cards alike: the largest drop counts.
  std::optional<double> most;
  if (limit == "clock_drop" && readings.mhz_most) most = drop(readings.mhz_least.value_or(0), *readings.mhz_most);
  for (const GpuReadings& gpu : readings.gpus)
    if (const auto value = ofGpu(gpu, limit)) most = std::max(most.value_or(*value), *value);
  return most;
}

bool isOfCards(std::string_view limit) { return plan::Validity().limit(limit).has_value(); }

std::vector<Flag> judge(const Readings& readings, const plan::Validity& validity) {
  std::vector<Flag> flags;
  // A value equal to the limit is allowed, so that a limit of 0 means none at all.
  for (const plan::LimitRule& rule : plan::kLimits) {
    const std::optional<double> most = validity.limit(rule.name), value = valueOf(readings, rule.name);
    if (most && value && *value > *most) flags.push_back({rule.name, textOf(readings, rule.name, *value, *most)});
  }
  return flags;
}

std::string disturbedText(const std::vector<Flag>& flags) {
  std::string text;
  for (const Flag& flag : flags) text += (text.empty() ? "disturbed: " : "; ") + flag.text;
  return text;
}

std::string throttleText(uint64_t reasons) {
  std::vector<std::string> texts;
  for (const auto& [bit, text] : {std::pair(0x8, "hardware slowdown"), std::pair(0x20, "heat, by the driver"),
                                  std::pair(0x40, "heat, by the hardware"), std::pair(0x80, "power brake")})
    if (reasons & bit) texts.emplace_back(text);
  return llvm::join(texts, ", ");
}

}  // namespace expc::validity
