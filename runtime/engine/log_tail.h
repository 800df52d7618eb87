#pragma once

#include <string>

namespace expc::engine {

/// The last 20 lines of a file, 4 KiB at most, control characters replaced; "" if there is none.
std::string logTail(const std::string& path);

}  // namespace expc::engine
