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

/// Prints "nullgpu: `line`" on stderr and ends the process with exit code 2, without destructors or
/// exit handlers: a library is in no position to throw through a program.
[[noreturn]] void refuse(const std::string& line);

}  // namespace nullgpu
