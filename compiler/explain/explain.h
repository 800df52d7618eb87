#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "compiler/diag/diagnostic.h"

namespace expc::explain {

/// The page of a kind, in Markdown: its title, a sentence that sums it up, the cause, a wrong and a right example, and
/// how to mend it. Each kind has one (tests/golden/pages.py); docs/diagnostics/README.md says how they are written.
std::string_view page(diag::Kind kind);

/// The sentence under a page's title.
std::string summary(diag::Kind kind);

/// The kind that a user names by its code in any case ("e0203") or by its slug ("unknown-unit").
std::optional<diag::Kind> find(std::string_view text);

/// The code or slug that `text` most likely meant, if one is near.
std::optional<std::string> nearest(std::string_view text);

}  // namespace expc::explain
