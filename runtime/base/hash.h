#pragma once

// Names texts by their content. Two texts with one hash are taken to be equal: 64 bits suffice for the few thousand
// texts of a store, but not against somebody who wants a collision.

#include <cstdint>
#include <string>
#include <string_view>

namespace expc::base {

/// The first eight bytes of the text's BLAKE3 digest, as a big-endian number.
uint64_t hashOf(std::string_view text);
/// hashOf() as 16 hex digits.
std::string shortHash(std::string_view canonical);

}  // namespace expc::base
