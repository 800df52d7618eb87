#pragma once

// Makes text out of a program's output that fits into a message: its beginning, the text without colours, and the line
// that says why the program failed. Nothing here reads files.

#include <llvm/ADT/StringRef.h>

#include <cstddef>
#include <string>

namespace expc::files {

/// The beginning of a text, fit to stand in a message: `most` bytes at most, never cut inside a character, and
/// printable.
std::string excerpt(llvm::StringRef text, size_t most = 120);

/// A text without the colours that a terminal takes: "\x1b[1;32m12.5\x1b[0m".
std::string withoutColours(llvm::StringRef text);

/// The line of a program's output that says why it failed, as an excerpt: the last one like `SomeError: …` or `error:
/// …`, else the last one with a letter or digit; "" if there is none. Launchers write boxes and rules behind it, and
/// lines that only say that another process failed or was lost. Such a line counts if no other is an error. The frame
/// of a line is left out.
std::string errorLine(llvm::StringRef text);

}  // namespace expc::files
