#pragma once

#include <string_view>

namespace expc::cli {

inline constexpr std::string_view kVersion = "0.1.0";

}  // namespace expc::cli
