#pragma once

#include <llvm/Support/JSON.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostic.h"
#include "compiler/source/source.h"

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

/// "error", "warning", "note"
std::string_view word(Severity severity);

/// Text fit for JSON, which holds Unicode only: names, messages and replacements could hold any bytes.
std::string jsonText(std::string_view text);

/// "study.exp:7:19"
std::string place(const source::SourceManager& sources, source::Range range);

/// A diagnostic as people read it, ending in a newline:
///   study.exp:7:19: error[E0203]: unknown level 'fp8'
///     7 |   factor precision in { fp8 }
///       |                         ^~~
///     note …, help …
/// The carets stand under the range also after tabs, wide and non-ASCII characters. `colour` adds ANSI colours.
std::string renderText(const source::SourceManager& sources, const Diagnostic& diagnostic, bool colour);

/// One object: code, slug, severity, message, file, range {begin, end: {line, column, offset}}, notes, fixes. `file`
/// and `range` are absent where the diagnostic has no place. Lines and columns count from one, offsets (bytes) from
/// zero.
llvm::json::Value renderJson(const source::SourceManager& sources, const Diagnostic& diagnostic);

}  // namespace expc::diag
