#pragma once

// What the environment says, taken apart, and refused where it cannot be read.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nullgpu {

/// Without blanks at both ends.
std::string_view trimmed(std::string_view text);
/// What stands between the commas of a list, trimmed; behind a last comma nothing needs to stand.
std::vector<std::string_view> entriesOf(std::string_view list);
/// All of `text` as a decimal number.
std::optional<uint64_t> wholeNumber(std::string_view text);

/// Ends the process with exit code 2 and one line on the error output.
[[noreturn]] void refuse(const std::string& line);

}  // namespace nullgpu
