#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace expc::driver {

/// The starter study NAME.exp of this folder, whose study is called `starter`. The text lives as long as the program.
std::optional<std::string_view> starterText(std::string_view name);

/// The names of all starters, sorted.
const std::vector<std::string_view>& starterNames();

}  // namespace expc::driver
