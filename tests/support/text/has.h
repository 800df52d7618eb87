#pragma once

// For tests: what a text has in it.

#include <string_view>

namespace expc::test {

inline bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

}  // namespace expc::test
