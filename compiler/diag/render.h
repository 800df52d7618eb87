#pragma once

#include <llvm/Support/JSON.h>

#include <string>

#include "compiler/diag/diagnostic.h"
#include "compiler/source/source.h"

namespace expc::diag {

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
