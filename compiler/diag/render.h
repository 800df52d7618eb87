#pragma once

// Writes a diagnostic for a person (text with the source line and carets) or for a program (JSON). A study file
// may come from a stranger, so all text from it passes through `printable` or `displayLine` before it reaches a
// terminal.

#include <llvm/Support/JSON.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostic.h"
#include "compiler/diag/source.h"
#include "runtime/base/llvm.h"

namespace expc::diag {

/// A line of source prepared for a terminal: tabs become spaces up to the next multiple of four. Invalid UTF-8,
/// control characters and marks that change the text direction become U+FFFD, so that a file cannot steer the
/// terminal.
struct DisplayLine {
  std::string text;
  /// columns[i] is the screen column at which byte i of the source line begins; one more entry holds the total
  /// width.
  std::vector<uint32_t> columns;
};
DisplayLine displayLine(std::string_view line);

/// "error", "warning" or "note".
std::string_view word(Severity severity);

/// `text` as valid Unicode, which JSON demands; names, messages and replacements may hold any bytes.
std::string jsonText(std::string_view text);

/// "study.exp:7:19". The range must be valid.
std::string place(const source::SourceManager& sources, source::Range range);

/// The diagnostic as people read it, ending in a newline:
///   study.exp:7:19: error[E0203]: unknown level 'fp8'
///     7 |   factor precision in { fp8 }
///       |                         ^~~
///     note …, help …
/// The carets stand under the range also behind tabs, wide and non-ASCII characters. Long lines are cut around
/// them. `colour` adds ANSI colours. Guesses are shown as notes only, certain fixes as "help".
std::string renderText(const source::SourceManager& sources, const Diagnostic& diagnostic, bool colour);

/// One object: code, slug, severity, message, file, range {begin, end: {line, column, offset}}, notes, fixes.
/// `file` and `range` are absent if the diagnostic has no place. Lines and columns count from one, offsets
/// (bytes) from zero.
json::Value renderJson(const source::SourceManager& sources, const Diagnostic& diagnostic);

}  // namespace expc::diag
