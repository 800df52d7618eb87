#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace expc::live::assets {

/// A file of assets/ by its name without the extension: page, script, style.
std::optional<std::string_view> text(std::string_view name);
const std::vector<std::string_view>& names();

}  // namespace expc::live::assets
