#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "compiler/diag/diagnostic.h"
#include "compiler/source/source.h"

namespace expc::format {

/// The one layout of a file that parse::load() took in: same tokens, same comments, other blanks and line breaks. It
/// looks at nothing but the text, so mistakes of meaning do not matter; syntax errors are reported and give nothing.
/// What it returns, formatted again, stays as it is.
std::optional<std::string> format(const source::SourceManager& sources, source::FileId file, diag::Emitter& emitter);

/// A unified diff from `before` to `after` with three lines of context, as `patch` reads it; "" where they agree.
/// `name` stands in its head on both sides.
std::string unifiedDiff(std::string_view name, std::string_view before, std::string_view after);

}  // namespace expc::format
