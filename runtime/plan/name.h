#pragma once

// Names that files and folders are called after, wherever they come from.

#include <optional>
#include <string>
#include <string_view>

namespace expc::plan {

/// Why `text` cannot be the name of a study, workload, point or control; nothing if it can. Such a name is one file's
/// name, stays inside the folder that it is put into, and can be printed: it is not empty, does not begin with a dot,
/// and has no '/', '#' or control character.
std::optional<std::string> whyNoName(std::string_view text);

}  // namespace expc::plan
