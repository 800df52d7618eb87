#pragma once

// Makes text from a program's output fit for a message: its beginning, the text without colours, and the line that
// says why the program failed. Nothing here reads files.

#include <cstddef>
#include <string>

#include "runtime/base/llvm.h"

namespace expc::files {

/// The beginning of a text, fit for a message: at most `most` bytes, never cut inside a character, and
/// printable.
std::string excerpt(StringRef text, size_t most = 120);

/// The text without a terminal's escape sequences for colours: "\x1b[1;32m12.5\x1b[0m" gives "12.5".
std::string withoutColours(StringRef text);

/// The line of a program's output that says why it failed, as an excerpt: the last line like `SomeError: …` or
/// `error: …`, or else the last one with a letter or digit; "" if there is none. Launchers write boxes and rules
/// behind the error, and lines saying only that another process failed or was lost; such a line counts only if no
/// other is an error. The frame around a line is left out.
std::string errorLine(StringRef text);

}  // namespace expc::files
