// Reads the configuration from the environment. The parsers are strict: a study that runs with a
// misspelt fault would pass for a wrong reason, so anything unclear ends the process with a line
// that says what would be valid.

#include "nullgpu/core/configuration.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "nullgpu/core/words.h"

namespace nullgpu {
namespace {

/// A variable of the environment that is set and not empty, for messages about it.
struct Variable {
  const char* name;
  std::string_view value;

  /// Ends the process with a message about `part` of the value.
  [[noreturn]] void refuse(std::string_view part, const std::string& reason) const {
    nullgpu::refuse(name, "=\"", part, "\": ", reason);
  }
  /// The number if there is one; otherwise ends the process with "is not `what`".
  uint64_t wanted(std::optional<uint64_t> number, const char* what) const {
    if (!number) refuse(value, joined("is not ", what));
    return *number;
  }
};

/// The factor of a unit: "" or "B", "KB" to "TB" (powers of 1000), "KiB" to "TiB" (powers of 1024).
std::optional<double> unitOf(std::string_view text) {
  if (text.empty() || text == "B") return 1;
  const size_t power = std::string_view("KMGT").find(text.front());
  const bool decimal = text.substr(1) == "B";
  if (power == std::string_view::npos || (!decimal && text.substr(1) != "iB")) return std::nullopt;
  return std::pow(decimal ? 1000 : 1024, power + 1);
}

/// A size in bytes such as "94GiB" or "1.5 GB", rounded to whole bytes; nothing if it is none.
std::optional<uint64_t> size(std::string_view text) {
  // Plain bytes first: a double would lose digits beyond 2^53.
  if (const auto bytes = wholeNumber(text)) return bytes;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc{} || !(value >= 0)) return std::nullopt;
  const auto unit = unitOf(trimmed({end, size_t(text.data() + text.size() - end)}));
  // Keeps the result of llround() below 2^63.
  if (!unit || value * *unit >= 9e18) return std::nullopt;
  return uint64_t(std::llround(value * *unit));
}

constexpr const char* kSize = "a size: write bytes, or a number with KB, MB, GB, TB, KiB, MiB, GiB or TiB";

/// Ten times the compute capability: 75 for "7.5".
unsigned capability(const Variable& told) {
  const auto dot = told.value.find('.');
  const auto major = dot == std::string_view::npos ? std::nullopt : wholeNumber(told.value.substr(0, dot));
  const auto minor = dot == std::string_view::npos ? std::nullopt : wholeNumber(told.value.substr(dot + 1));
  if (!major || !minor || *major < 1 || *major > 99 || *minor > 9)
    told.refuse(told.value, "is not a compute capability such as 7.5 or 9.0");
  return unsigned(*major * 10 + *minor);
}

/// Faults with a number, by their names in NULLGPU_FAULTS.
constexpr std::pair<std::string_view, std::optional<uint64_t> Faults::*> kNumbers[] = {
    {"rank", &Faults::rank},
    {"memory", &Faults::memory},
    {"allocation", &Faults::allocation},
    {"launch", &Faults::launch},
    {"lost", &Faults::lost},
    {"collective", &Faults::collective},
    {"mismatch", &Faults::mismatch},
    {"communicator", &Faults::communicator},
    {"capture", &Faults::capture},
};
/// Faults without a number.
constexpr std::pair<std::string_view, bool Faults::*> kFlags[] = {
    {"graphs", &Faults::graphs}, {"cublas", &Faults::cublas}, {"cudnn", &Faults::cudnn}, {"cupti", &Faults::cupti}};

/// The number of the fault `name`; ends the process if `text` is none. Ranks and sizes may be 0,
/// counts begin at 1.
uint64_t faultNumber(const Variable& told, std::string_view item, std::string_view name, std::string_view text) {
  const std::optional<uint64_t> number = name == "memory" ? size(text) : wholeNumber(text);
  if (name == "memory" && !number) told.refuse(item, joined("wants ", kSize));
  if (name == "rank" && (!number || *number > 1'000'000)) told.refuse(item, "wants a rank, as in \"rank=1\"");
  const uint64_t least = name == "memory" || name == "rank" ? 0 : 1;
  if (!number || *number < least) told.refuse(item, "wants a whole number from 1 on, as in \"launch=5000\"");
  return *number;
}

/// Reads one entry, such as "launch=5000" or "graphs", into `faults`.
void readFault(const Variable& told, std::string_view item, Faults& faults) {
  if (item.empty()) told.refuse(told.value, "has an empty entry");
  const auto equals = item.find('=');
  const std::string_view name = trimmed(item.substr(0, equals));
  const auto is = [&](const auto& known) { return known.first == name; };
  bool twice = false;
  if (const auto* flag = std::ranges::find_if(kFlags, is); flag != std::end(kFlags)) {
    if (equals != std::string_view::npos) told.refuse(item, "takes no value");
    twice = std::exchange(faults.*flag->second, true);
  } else if (const auto* number = std::ranges::find_if(kNumbers, is); number != std::end(kNumbers)) {
    const std::string_view value = equals == std::string_view::npos ? "" : trimmed(item.substr(equals + 1));
    twice = std::exchange(faults.*number->second, faultNumber(told, item, name, value)).has_value();
  } else {
    told.refuse(item,
                "no such fault; there are rank=R, allocation=N, memory=BYTES, launch=N, lost=N, collective=N, "
                "mismatch=N, communicator=N, capture=N, graphs, cublas, cudnn and cupti");
  }
  if (twice) told.refuse(item, "stands there twice");
}

/// Whether the faults are for this process: they name no rank, or its RANK. A process without a
/// RANK does not match a named one.
bool ofThisProcess(const Faults& faults) {
  if (!faults.rank) return true;
  const char* rank = std::getenv("RANK");
  return rank && wholeNumber(rank) == faults.rank;
}

Faults faultsOf(const Variable& told) {
  Faults faults;
  for (const std::string_view item : entriesOf(told.value)) readFault(told, item, faults);
  return ofThisProcess(faults) ? faults : Faults{};
}

/// Calls `take` if the variable is set and not empty.
void read(const char* name, const std::function<void(const Variable&)>& take) {
  const char* value = std::getenv(name);
  if (value && *value) take({name, trimmed(value)});
}

/// Reads all variables once; ends the process at the first that is wrong.
Configuration fromEnvironment() {
  Configuration result;
  read("NULLGPU_CARDS", [&](const Variable& told) {
    const auto cards = wholeNumber(told.value);
    if (!cards || *cards > kMostCards) told.refuse(told.value, "is not a number of cards from 0 to 64");
    result.cards = unsigned(*cards);
  });
  read("NULLGPU_MEMORY", [&](const Variable& told) {
    result.memory = told.wanted(size(told.value), kSize);
    if (result.memory == 0) told.refuse(told.value, "a card without memory cannot be used");
  });
  read("NULLGPU_CAPABILITY", [&](const Variable& told) { result.capability = capability(told); });
  read("NULLGPU_SEED",
       [&](const Variable& told) { result.seed = told.wanted(wholeNumber(told.value), "a whole number"); });
  read("NULLGPU_DROP", [&](const Variable& told) { result.drop = told.wanted(size(told.value), kSize); });
  read("NULLGPU_MACHINE", [&](const Variable& told) { result.machine = told.value; });
  read("NULLGPU_RECORD", [&](const Variable& told) { result.record = told.value; });
  read("NULLGPU_FAULTS", [&](const Variable& told) { result.faults = faultsOf(told); });
  return result;
}

std::atomic<const Configuration*> current{nullptr};

/// All of `part` as a number, decimal or hexadecimal with 0x.
std::optional<uint64_t> bitsOf(std::string_view part) {
  const std::string text(trimmed(part));
  if (text.empty() || !std::isdigit(static_cast<unsigned char>(text.front()))) return std::nullopt;
  char* end = nullptr;
  const uint64_t value = std::strtoull(text.c_str(), &end, 0);
  return *end == '\0' ? std::optional(value) : std::nullopt;
}

}  // namespace

/// A forked process reads its environment again, because launchers fork ranks and then set RANK.
/// The parent's object is never freed, since others may hold references to it.
const Configuration& configuration() {
  if (const Configuration* known = current.load(std::memory_order_acquire)) return *known;
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(nullptr, nullptr, [] { current = nullptr; }); });
  const auto* read = new Configuration(fromEnvironment());
  // Two threads may read at once. Only one result is published, so that all see the same object.
  const Configuration* expected = nullptr;
  if (!current.compare_exchange_strong(expected, read)) {
    delete read;
    return *expected;
  }
  return *read;
}

uint64_t throttleIn(std::string_view list, unsigned card) {
  uint64_t bits = 0;
  for (const std::string_view entry : entriesOf(list)) {
    const size_t sign = entry.find('=');
    const bool for_all = sign == std::string_view::npos;
    const auto of = for_all ? std::optional<uint64_t>(card) : bitsOf(entry.substr(0, sign));
    const auto value = bitsOf(for_all ? entry : entry.substr(sign + 1));
    if (!of || !value)
      refuse("NULLGPU_THROTTLE=", list, ": '", entry, "' is neither CARD=BITS nor BITS, such as 0=0x8");
    if (*of == card) bits |= *value;
  }
  return bits;
}

uint64_t throttleAsked(unsigned card) {
  const char* list = std::getenv("NULLGPU_THROTTLE");
  if (!list || list[0] != '@') return list ? throttleIn(list, card) : 0;
  std::ifstream file(list + 1);
  std::string line;
  std::getline(file, line);
  return throttleIn(line, card);
}

}  // namespace nullgpu
