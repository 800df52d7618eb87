#pragma once

// Patterns of file names, as in `inputs "src/**"`.

#include <string>
#include <vector>

#include "runtime/base/llvm.h"

namespace expc::files {

/// The regular files that `pattern` names, sorted, as normal paths below `root`, or absolute ones for an absolute
/// pattern. Wildcards: `*`, `?` and `[a-z]` within a name, `**` for any number of folders, and at the end for
/// everything below. A folder that is named as a whole stands for all files in it. Hidden names match only where the
/// pattern has the dot. `**` does not follow links to folders. Nothing below `except` is looked at. Error: a bad
/// pattern, a folder that cannot be read, or millions of names.
Expected<std::vector<std::string>> filesMatching(const std::string& root, const std::string& pattern,
                                                 const std::string& except);

}  // namespace expc::files
