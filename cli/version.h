#pragma once

#include <string_view>

namespace expc::cli {

/// The version of expc, as `expc --version`, SARIF logs, report pages and bundles state it.
inline constexpr std::string_view kVersion = "0.1.0";

}  // namespace expc::cli
