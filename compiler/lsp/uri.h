#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace expc::lsp {

/// The path of a `file:` URI, with its percent signs resolved and dots removed; nothing for other schemes.
std::optional<std::string> pathOf(std::string_view uri);

/// The `file:` URI of an absolute path.
std::string uriOf(std::string_view path);

}  // namespace expc::lsp
