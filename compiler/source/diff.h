#pragma once

#include <string>
#include <string_view>

namespace expc::source {

/// The difference of two texts in the unified format that `patch` and `git apply` read, with three lines of context and
/// `name` on both sides ("a/NAME", "b/NAME"); "" where there is none.
std::string unifiedDiff(std::string_view before, std::string_view after, std::string_view name);

}  // namespace expc::source
