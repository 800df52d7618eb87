#pragma once

// Parsing of environment variables, and the one way to refuse a value that cannot be read.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nullgpu {

/// `text` without blanks and tabs at both ends.
std::string_view trimmed(std::string_view text);
/// The entries of a list separated by commas, trimmed; a comma at the end adds no empty entry. The
/// views point into `list`.
std::vector<std::string_view> entriesOf(std::string_view list);
/// `text` as a decimal number; nothing if any other character remains or it exceeds 64 bits.
std::optional<uint64_t> wholeNumber(std::string_view text);

/// Texts and numbers in a row.
template <typename... Parts>
std::string joined(const Parts&... parts) {
  std::string text;
  const auto add = [&](const auto& part) {
    if constexpr (requires { std::to_string(part); })
      text += std::to_string(part);
    else
      text += part;
  };
  (add(parts), ...);
  return text;
}

/// Prints "nullgpu: `line`" on stderr and ends the process with exit code 2, without destructors or
/// exit handlers: a library is in no position to throw through a program.
[[noreturn]] void refuseLine(const std::string& line);
template <typename... Parts>
[[noreturn]] void refuse(const Parts&... line) {
  refuseLine(joined(line...));
}

}  // namespace nullgpu
