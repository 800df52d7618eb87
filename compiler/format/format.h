#pragma once

// The layout of `.exp` files, for `expc fmt` and for the language server, and the unified diff that `expc fmt --diff`
// prints.
//
// The formatter works on the concrete tree and moves tokens and comments, so it cannot lose any. The stages: pieces.cpp
// takes the file apart, layout.cpp breaks it into lines, lines.cpp aligns columns and prints. docs/layers/format.md
// states the rules of the layout.

#include <optional>
#include <string>
#include <string_view>

#include "compiler/diag/diagnostic.h"
#include "compiler/diag/source.h"

namespace expc::format {

/// Lays out a file that parse::load() took in: the same tokens and comments with other blanks and line breaks. Only the
/// syntax is looked at, so mistakes of meaning do not matter. Syntax errors are reported, and nothing is returned.
/// Formatting the result again does not change it.
std::optional<std::string> format(const source::SourceManager& sources, source::FileId file, diag::Emitter& emitter);

/// A unified diff from `before` to `after` with three lines of context, as `patch` reads it; "" if they are equal.
/// `name` stands in its header on both sides.
std::string unifiedDiff(std::string_view name, std::string_view before, std::string_view after);

}  // namespace expc::format
