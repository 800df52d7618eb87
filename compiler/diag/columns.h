#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace expc::diag {

/// A line of source made fit for a terminal: tabs become spaces up to the next multiple of four, bytes that are no
/// UTF-8 and control characters become U+FFFD (so that a file cannot steer the terminal).
struct DisplayLine {
  std::string text;
  /// columns[i]: where byte i of the source line begins on the screen; the last entry is the width of the whole.
  std::vector<uint32_t> columns;
};
DisplayLine displayLine(std::string_view line);

/// `text` with control characters and bytes that are no UTF-8 replaced by U+FFFD; newlines become spaces.
std::string printable(std::string_view text);

}  // namespace expc::diag
