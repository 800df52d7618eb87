#include "nullgpu/core/throttle.h"

#include <cctype>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>

#include "nullgpu/core/words.h"

namespace nullgpu {
namespace {

/// The whole of `part` as a number, decimal or with 0x.
std::optional<uint64_t> number(std::string_view part) {
  const std::string text(trimmed(part));
  if (text.empty() || !std::isdigit(static_cast<unsigned char>(text.front()))) return std::nullopt;
  char* end = nullptr;
  const uint64_t value = std::strtoull(text.c_str(), &end, 0);
  return *end == '\0' ? std::optional(value) : std::nullopt;
}

}  // namespace

uint64_t throttleIn(std::string_view list, unsigned card) {
  uint64_t bits = 0;
  for (const std::string_view entry : entriesOf(list)) {
    const size_t sign = entry.find('=');
    const bool for_all = sign == std::string_view::npos;
    const auto of = for_all ? std::optional<uint64_t>(card) : number(entry.substr(0, sign));
    const auto value = number(for_all ? entry : entry.substr(sign + 1));
    if (!of || !value)
      refuse("NULLGPU_THROTTLE=" + std::string(list) + ": '" + std::string(entry) +
             "' is neither CARD=BITS nor BITS, such as 0=0x8");
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
