#include "nullgpu/core/words.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <system_error>

namespace nullgpu {

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::vector<std::string_view> entriesOf(std::string_view list) {
  std::vector<std::string_view> entries;
  while (!list.empty()) {
    const auto comma = list.find(',');
    entries.push_back(trimmed(list.substr(0, comma)));
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  }
  return entries;
}

std::optional<uint64_t> wholeNumber(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

void refuseLine(const std::string& line) {
  std::fprintf(stderr, "nullgpu: %s\n", line.c_str());
  std::_Exit(2);
}

}  // namespace nullgpu
