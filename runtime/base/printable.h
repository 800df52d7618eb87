#pragma once

// Makes foreign text fit for a terminal: names, labels, reasons, what programs said. Everything that may hold such
// text passes through here on its way to a terminal.

#include <cstdio>
#include <string>
#include <string_view>

namespace expc::base {

/// The text in one line, without control characters. Escapes of a terminal, also those of one character (U+009B),
/// are shown as "\\x1b". Bytes that are not UTF-8 are replaced by U+FFFD.
std::string printable(std::string_view text);
/// printable() for each line of a text.
std::string printableLines(std::string_view text);

/// Writes to a stream, and ignores errors: a full disk, a closed pipe or a terminal that is gone must not end a
/// measurement.
void tell(std::FILE* out, std::string_view text);

}  // namespace expc::base
