#include "runtime/plan/name.h"

#include <algorithm>
#include <cstdint>

namespace expc::plan {

std::optional<std::string> whyNoName(std::string_view text) {
  if (text.empty()) return "is empty";
  if (text.front() == '.') return "begins with a dot";
  const bool controls = std::any_of(text.begin(), text.end(), [](char c) { return uint8_t(c) < 0x20 || c == 0x7f; });
  if (controls) return "holds a control character";
  for (const char sign : {'/', '#'})
    if (text.find(sign) != text.npos) return std::string("holds a '") + sign + "'";
  return std::nullopt;
}

}  // namespace expc::plan
