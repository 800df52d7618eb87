#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace expc::lsp {

/// The folder under the user's cache in which an editor finds what `expc` carries in itself: built-in modules, the
/// pages of `expc explain`. XDG_CACHE_HOME, else ~/.cache; "" without both.
std::string libraryFolder();

/// Writes `text` as FOLDER/GROUP/DIGEST/NAME, read-only, unless it is there, and gives the path; nothing where that
/// fails or `folder` is "". The digest is the text's, so that versions do not overwrite each other.
std::optional<std::string> showText(const std::string& folder, std::string_view group, std::string_view name,
                                    std::string_view text);

}  // namespace expc::lsp
