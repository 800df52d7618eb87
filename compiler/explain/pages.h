#pragma once

// What the build embeds of docs/diagnostics.

#include <optional>
#include <string_view>
#include <vector>

namespace expc::explain {

/// The Markdown of docs/diagnostics/CODE.md, by its code ("E0203"). The text lives as long as the program.
std::optional<std::string_view> pageText(std::string_view code);

/// The codes of all pages, sorted.
const std::vector<std::string_view>& pageNames();

}  // namespace expc::explain
