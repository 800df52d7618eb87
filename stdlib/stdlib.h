#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace expc::stdlib {

/// Text of the embedded module `std.NAME`, or nothing. The text lives as long as the program.
std::optional<std::string_view> module(std::string_view name);

/// Names of all embedded modules, sorted: "image".
const std::vector<std::string_view>& names();

}  // namespace expc::stdlib
