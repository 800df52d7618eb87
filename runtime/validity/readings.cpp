#include "runtime/validity/readings.h"

#include <algorithm>

namespace expc::validity {
namespace {

using llvm::json::Array;
using llvm::json::Object;

template <typename T>
void put(Object& object, llvm::StringRef name, const std::optional<T>& value) {
  if (value) object[name] = *value;
}

void put(Object& object, llvm::StringRef name, const std::vector<std::string>& texts) {
  if (!texts.empty()) object[name] = Array(texts);
}

void take(const Object& object, llvm::StringRef name, std::optional<double>& value) {
  if (const auto found = object.getNumber(name)) value = *found;
}

void take(const Object& object, llvm::StringRef name, std::optional<uint64_t>& value) {
  if (const auto found = object.getInteger(name); found && *found >= 0) value = static_cast<uint64_t>(*found);
}

template <typename T>
void take(const Object& object, llvm::StringRef name, T& value) {
  if (const auto found = object.getNumber(name); found && *found >= 0 && *found <= UINT32_MAX)
    value = static_cast<T>(*found);
}

void take(const Object& object, llvm::StringRef name, std::vector<std::string>& texts) {
  if (const Array* found = object.getArray(name))
    for (const llvm::json::Value& text : *found)
      if (const auto one = text.getAsString()) texts.push_back(one->str());
}

Object toJson(const GpuReadings& gpu) {
  Object object{{"index", gpu.index}, {"looks", gpu.looks}, {"celsius", gpu.celsius_most}, {"watts", gpu.watts_most}};
  if (gpu.throttled > 0) object["throttled"] = gpu.throttled;
  if (gpu.reasons != 0) object["reasons"] = static_cast<int64_t>(gpu.reasons);
  if (gpu.clock_most > 0) object["mhz"] = Array{gpu.clock_least, gpu.clock_most};
  put(object, "joules", gpu.joules);
  put(object, "ecc_errors", gpu.ecc_errors);
  put(object, "others", gpu.others);
  return object;
}

GpuReadings gpuFromJson(const Object& object) {
  GpuReadings gpu;
  take(object, "index", gpu.index);
  take(object, "looks", gpu.looks);
  take(object, "throttled", gpu.throttled);
  take(object, "reasons", gpu.reasons);
  take(object, "celsius", gpu.celsius_most);
  take(object, "watts", gpu.watts_most);
  take(object, "joules", gpu.joules);
  take(object, "ecc_errors", gpu.ecc_errors);
  take(object, "others", gpu.others);
  const Array* mhz = object.getArray("mhz");
  if (!mhz || mhz->size() != 2) return gpu;
  gpu.clock_least = static_cast<unsigned>((*mhz)[0].getAsInteger().value_or(0));
  gpu.clock_most = static_cast<unsigned>((*mhz)[1].getAsInteger().value_or(0));
  return gpu;
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

Object toJson(const Readings& readings) {
  Object object{{"seconds", readings.seconds}};
  put(object, "other_cpu", readings.other_cpu);
  put(object, "busy_others", readings.busy_others);
  put(object, "load", readings.load);
  put(object, "swapped", readings.swapped);
  put(object, "page_faults", readings.page_faults);
  put(object, "pressure", readings.pressure);
  put(object, "mhz_most", readings.mhz_most);
  put(object, "mhz_least", readings.mhz_least);
  put(object, "joules", readings.joules);
  Array gpus;
  for (const GpuReadings& gpu : readings.gpus) gpus.push_back(toJson(gpu));
  if (!gpus.empty()) object["gpus"] = std::move(gpus);
  return object;
}

Readings readingsFromJson(const Object& object) {
  Readings readings;
  readings.seconds = object.getNumber("seconds").value_or(0);
  take(object, "other_cpu", readings.other_cpu);
  take(object, "busy_others", readings.busy_others);
  take(object, "load", readings.load);
  take(object, "swapped", readings.swapped);
  take(object, "page_faults", readings.page_faults);
  take(object, "pressure", readings.pressure);
  take(object, "mhz_most", readings.mhz_most);
  take(object, "mhz_least", readings.mhz_least);
  take(object, "joules", readings.joules);
  if (const Array* gpus = object.getArray("gpus"))
    for (const llvm::json::Value& gpu : *gpus)
      if (const Object* one = gpu.getAsObject()) readings.gpus.push_back(gpuFromJson(*one));
  return readings;
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
