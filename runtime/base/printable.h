#pragma once

// Text that is not ours, for a terminal: names, labels, reasons, what programs said. Everything that goes to one and
// may hold such passes here.

#include <cstdio>
#include <string>
#include <string_view>

namespace expc::base {

/// In one line, without control characters: escapes of a terminal, also those of one character (U+009B), are shown as
/// "\\x1b". What is no UTF-8 is replaced by U+FFFD.
std::string printable(std::string_view text);
/// The same for each of its lines.
std::string printableLines(std::string_view text);

/// Writes to a stream that may be gone (a full disk, a pipe that nobody reads, a terminal that went): messages that
/// nobody can read end no measurement.
void tell(std::FILE* out, std::string_view text);

}  // namespace expc::base
