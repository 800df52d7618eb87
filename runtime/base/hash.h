#pragma once

// Names texts by their content.

#include <cstdint>
#include <string>
#include <string_view>

namespace expc::base {

/// The first eight bytes of BLAKE3 over a text, as a number.
uint64_t hashOf(std::string_view text);
/// First 16 hex digits of BLAKE3 over `canonical`.
std::string shortHash(std::string_view canonical);

}  // namespace expc::base
