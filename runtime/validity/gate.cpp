#include "runtime/validity/gate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace expc::validity {
namespace {

std::optional<double> number(const auto& value) {
  return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
}

std::optional<double> drop(double least, double most) {
  return most > 0 ? std::optional(1 - least / most) : std::nullopt;
}

/// What a card's readings say of a limit.
std::optional<double> ofGpu(const GpuReadings& gpu, std::string_view limit) {
  if (limit == "other_gpu") return static_cast<double>(gpu.others.size());
  if (limit == "throttled" && gpu.looks > 0) return static_cast<double>(gpu.throttled) / gpu.looks;
  if (limit == "ecc_errors") return number(gpu.ecc_errors);
  return limit == "clock_drop" ? drop(gpu.clock_least, gpu.clock_most) : std::nullopt;
}

std::string listed(const std::vector<std::string>& names) {
  return names.empty() ? "" : fmt::format(": {}", fmt::join(names, ", "));
}

std::string percent(double share) { return fmt::format("{:.3g} %", share * 100); }
std::string mebibytes(double bytes) { return fmt::format("{:.4g} MiB", bytes / (1 << 20)); }

/// What a limit's name stands for, with what was seen.
std::string textOf(const Readings& readings, std::string_view limit, double value, double most) {
  if (limit == "other_cpu")
    return fmt::format("others took {} of its cores ({} allowed){}", percent(value), percent(most),
                       listed(readings.busy_others));
  for (const GpuReadings& gpu : readings.gpus) {
    if (ofGpu(gpu, limit) != value) continue;
    if (limit == "other_gpu") return fmt::format("other processes are on GPU {}{}", gpu.index, listed(gpu.others));
    if (limit == "throttled")
      return fmt::format("GPU {} was slowed down in {} of the looks at it ({})", gpu.index, percent(value),
                         throttleText(gpu.reasons));
    if (limit == "ecc_errors")
      return fmt::format("the memory of GPU {} had {} errors that it could not correct", gpu.index, value);
  }
  if (limit == "clock_drop") return fmt::format("a clock fell by {} ({} allowed)", percent(value), percent(most));
  if (limit == "swapped") return fmt::format("the machine swapped {} ({} allowed)", mebibytes(value), mebibytes(most));
  if (limit == "page_faults")
    return fmt::format("the machine read {:.0f} pages from a disk ({:.0f} allowed)", value, most);
  return fmt::format("{} of the time somebody waited for memory ({} allowed)", percent(value), percent(most));
}

}  // namespace

std::optional<double> valueOf(const Readings& readings, std::string_view limit) {
  if (limit == "other_cpu") return readings.other_cpu;
  if (limit == "swapped") return number(readings.swapped);
  if (limit == "page_faults") return number(readings.page_faults);
  if (limit == "pressure") return readings.pressure;
  std::optional<double> most;
  if (limit == "clock_drop" && readings.mhz_most) most = drop(readings.mhz_least.value_or(0), *readings.mhz_most);
  for (const GpuReadings& gpu : readings.gpus)
    if (const auto value = ofGpu(gpu, limit)) most = std::max(most.value_or(*value), *value);
  return most;
}

bool isOfCards(std::string_view limit) { return plan::Validity().limit(limit).has_value(); }

std::vector<Flag> judge(const Readings& readings, const plan::Validity& validity) {
  std::vector<Flag> flags;
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
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace expc::validity
