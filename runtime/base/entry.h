#pragma once

// Searches maps by key.

#include <iterator>
#include <optional>

namespace expc::base {

/// The value of a key, or null if the map has no such key.
auto* entryOf(auto& map, const auto& key) {
  const auto found = map.find(key);
  return found == std::end(map) ? nullptr : &found->second;
}

/// A copy of the value, or nothing.
auto valueIn(const auto& map, const auto& key) {
  const auto* found = entryOf(map, key);
  return found ? std::optional(*found) : std::nullopt;
}

}  // namespace expc::base

namespace expc {
using base::entryOf, base::valueIn;
}
