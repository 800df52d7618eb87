#pragma once

#include <llvm/Support/Error.h>

#include <string>
#include <vector>

namespace expc::engine::inputs {

/// The regular files that `pattern` names, sorted: `*`, `?` and `[a-z]` within a name, `**` for any folders (and, at
/// the end, everything below). A folder that is named whole stands for all files in it. A relative pattern starts at
/// `root`. Hidden names match only what names them with a dot; links to folders are not followed by `**`; nothing is
/// looked for below `except`. The error is a bad pattern or a folder that cannot be read.
llvm::Expected<std::vector<std::string>> filesMatching(const std::string& root, const std::string& pattern,
                                                       const std::string& except);

}  // namespace expc::engine::inputs
