#pragma once

// Searches lists of plans, studies and results by name.

#include <algorithm>
#include <concepts>
#include <iterator>
#include <string_view>

namespace expc::base {

/// The name of a thing, of what points to one, a declaration, an entry of a map, or a name itself.
template <typename Named>
std::string_view nameOf(const Named& thing) {
  if constexpr (std::convertible_to<const Named&, std::string_view>)
    return thing;
  else if constexpr (requires { thing.first; })
    return thing.first;
  else if constexpr (requires { *thing; })
    return nameOf(*thing);
  else
    return nameOf(thing.name);
}

/// Index of the first that is called `name`, or -1.
template <typename List>
int findNamed(const List& list, std::string_view name) {
  const auto found = std::ranges::find_if(list, [&](const auto& one) { return nameOf(one) == name; });
  return found == std::end(list) ? -1 : static_cast<int>(found - std::begin(list));
}

/// The first that is called `name`, or what it points to; null where there is none.
template <typename List>
auto* named(const List& list, std::string_view name) {
  const int index = findNamed(list, name);
  const auto found = std::begin(list) + std::max(0, index);
  if constexpr (requires { found->get(); })
    return index < 0 ? nullptr : found->get();
  else
    return index < 0 ? nullptr : &*found;
}

}  // namespace expc::base
