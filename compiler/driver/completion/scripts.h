#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace expc::driver {

/// The completion script of a shell ("bash"). The text lives as long as the program.
std::optional<std::string_view> completionScript(std::string_view shell);

/// The shells that there is a script for, sorted.
const std::vector<std::string_view>& completionShells();

}  // namespace expc::driver
