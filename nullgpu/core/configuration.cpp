#include "nullgpu/core/configuration.h"

#include <pthread.h>

#include <atomic>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <string_view>
#include <system_error>

namespace nullgpu {
namespace {

constexpr uint64_t kMostCards = 64;

[[noreturn]] void refuse(const char* variable, std::string_view value, const std::string& reason) {
  std::fprintf(stderr, "nullgpu: %s=\"%.*s\": %s\n", variable, int(value.size()), value.data(), reason.c_str());
  std::_Exit(2);
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::optional<uint64_t> wholeNumber(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> unitOf(std::string_view text) {
  static constexpr std::pair<std::string_view, double> kUnits[] = {{"", 1},
                                                                   {"B", 1},
                                                                   {"KB", 1e3},
                                                                   {"MB", 1e6},
                                                                   {"GB", 1e9},
                                                                   {"TB", 1e12},
                                                                   {"KiB", 1024.},
                                                                   {"MiB", double(1 << 20)},
                                                                   {"GiB", double(1 << 30)},
                                                                   {"TiB", 1099511627776.}};
  for (const auto& [name, factor] : kUnits)
    if (name == text) return factor;
  return std::nullopt;
}

std::optional<uint64_t> size(std::string_view text) {
  if (const auto bytes = wholeNumber(text)) return bytes;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc{} || !(value >= 0)) return std::nullopt;
  const auto unit = unitOf(trimmed({end, size_t(text.data() + text.size() - end)}));
  if (!unit || value * *unit >= 9e18) return std::nullopt;
  return uint64_t(std::llround(value * *unit));
}

uint64_t wanted(const char* variable, std::string_view value, std::optional<uint64_t> number, const char* what) {
  if (!number) refuse(variable, value, std::string("is not ") + what);
  return *number;
}

constexpr const char* kSize = "a size: write bytes, or a number with KB, MB, GB, TB, KiB, MiB, GiB or TiB";

unsigned capability(const char* variable, std::string_view value) {
  const auto dot = value.find('.');
  const auto major = dot == std::string_view::npos ? std::nullopt : wholeNumber(value.substr(0, dot));
  const auto minor = dot == std::string_view::npos ? std::nullopt : wholeNumber(value.substr(dot + 1));
  if (!major || !minor || *major < 1 || *major > 99 || *minor > 9)
    refuse(variable, value, "is not a compute capability such as 7.5 or 9.0");
  return unsigned(*major * 10 + *minor);
}

class FaultReader {
 public:
  explicit FaultReader(const char* variable) : variable_(variable) {}

  void read(std::string_view item) {
    const auto equals = item.find('=');
    const std::string key(trimmed(item.substr(0, equals)));
    const auto value = equals == std::string_view::npos
                           ? std::nullopt
                           : std::optional<std::string_view>(trimmed(item.substr(equals + 1)));
    const auto known = kinds_.find(key);
    if (known == kinds_.end())
      refuse(variable_, item,
             "no such fault; there are rank=R, allocation=N, memory=BYTES, launch=N, lost=N, collective=N, "
             "mismatch=N, communicator=N, capture=N, graphs, cublas, cudnn and cupti");
    if (!seen_.emplace(key, true).second) refuse(variable_, item, "stands there twice");
    known->second(item, value);
  }

  Faults faults;

 private:
  using Reader = std::function<void(std::string_view item, std::optional<std::string_view> value)>;

  Reader count(std::optional<uint64_t>& into) {
    return [this, &into](std::string_view item, std::optional<std::string_view> value) {
      into = value ? wholeNumber(*value) : std::nullopt;
      if (!into || *into == 0) refuse(variable_, item, "wants a whole number from 1 on, as in \"launch=5000\"");
    };
  }
  Reader flag(bool& into) {
    return [this, &into](std::string_view item, std::optional<std::string_view> value) {
      if (value) refuse(variable_, item, "takes no value");
      into = true;
    };
  }

  const char* variable_;
  std::map<std::string, bool> seen_;
  std::map<std::string, Reader> kinds_{
      {"rank",
       [this](std::string_view item, std::optional<std::string_view> value) {
         const auto rank = value ? wholeNumber(*value) : std::nullopt;
         if (!rank || *rank > 1'000'000) refuse(variable_, item, "wants a rank, as in \"rank=1\"");
         faults.rank = unsigned(*rank);
       }},
      {"memory",
       [this](std::string_view item, std::optional<std::string_view> value) {
         faults.memory = value ? size(*value) : std::nullopt;
         if (!faults.memory) refuse(variable_, item, std::string("wants ") + kSize);
       }},
      {"allocation", count(faults.allocation)},
      {"launch", count(faults.launch)},
      {"lost", count(faults.lost)},
      {"collective", count(faults.collective)},
      {"mismatch", count(faults.mismatch)},
      {"communicator", count(faults.communicator)},
      {"capture", count(faults.capture)},
      {"graphs", flag(faults.graphs)},
      {"cublas", flag(faults.cublas)},
      {"cudnn", flag(faults.cudnn)},
      {"cupti", flag(faults.cupti)},
  };
};

/// Only the process whose RANK is named has them; a launcher that names a rank and a process without one do not match.
bool ofThisProcess(const Faults& faults) {
  if (!faults.rank) return true;
  const char* rank = std::getenv("RANK");
  return rank && wholeNumber(rank) == uint64_t{*faults.rank};
}

Faults parsedFaults(const char* variable, std::string_view text) {
  FaultReader reader(variable);
  while (!text.empty()) {
    const auto comma = text.find(',');
    const std::string_view item = trimmed(text.substr(0, comma));
    if (item.empty()) refuse(variable, text, "has an empty entry");
    reader.read(item);
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
  }
  return ofThisProcess(reader.faults) ? reader.faults : Faults{};
}

void read(const char* variable, const std::function<void(std::string_view)>& take) {
  const char* value = std::getenv(variable);
  if (value && *value) take(trimmed(value));
}

Configuration fromEnvironment() {
  Configuration result;
  read("NULLGPU_CARDS", [&](std::string_view value) {
    const auto cards = wholeNumber(value);
    if (!cards || *cards > kMostCards) refuse("NULLGPU_CARDS", value, "is not a number of cards from 0 to 64");
    result.cards = unsigned(*cards);
  });
  read("NULLGPU_MEMORY", [&](std::string_view value) {
    result.memory = wanted("NULLGPU_MEMORY", value, size(value), kSize);
    if (result.memory == 0) refuse("NULLGPU_MEMORY", value, "a card without memory cannot be used");
  });
  read("NULLGPU_CAPABILITY",
       [&](std::string_view value) { result.capability = capability("NULLGPU_CAPABILITY", value); });
  read("NULLGPU_SEED", [&](std::string_view value) {
    result.seed = wanted("NULLGPU_SEED", value, wholeNumber(value), "a whole number");
  });
  read("NULLGPU_DROP",
       [&](std::string_view value) { result.drop = wanted("NULLGPU_DROP", value, size(value), kSize); });
  read("NULLGPU_MACHINE", [&](std::string_view value) { result.machine = value; });
  read("NULLGPU_FAULTS", [&](std::string_view value) { result.faults = parsedFaults("NULLGPU_FAULTS", value); });
  return result;
}

std::atomic<const Configuration*> current{nullptr};

}  // namespace

/// A forked process reads its environment again: its RANK is another one. What its parent read stays where it is, since
/// references to it may be held.
const Configuration& configuration() {
  if (const Configuration* known = current.load(std::memory_order_acquire)) return *known;
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(nullptr, nullptr, [] { current = nullptr; }); });
  const auto* read = new Configuration(fromEnvironment());
  const Configuration* expected = nullptr;
  if (!current.compare_exchange_strong(expected, read)) {
    delete read;
    return *expected;
  }
  return *read;
}

}  // namespace nullgpu
