#pragma once

#include <string>
#include <string_view>

namespace expc::format {

/// A unified diff from `before` to `after` with three lines of context, as `patch` reads it; "" where they agree.
/// `name` stands in its head on both sides.
std::string unifiedDiff(std::string_view name, std::string_view before, std::string_view after);

}  // namespace expc::format
