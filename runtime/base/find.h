#pragma once

// Searches lists by name: vectors of structs or pointers, maps, or names themselves. Also appends what a list lacks.

#include <algorithm>
#include <concepts>
#include <iterator>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace expc::base {

/// The name of an element: a struct with `name`, a pointer to one, an entry of a map (its key), or a name itself.
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

/// Index of the first element called `name`, or -1.
template <typename List>
int findNamed(const List& list, std::string_view name) {
  const auto found = std::ranges::find_if(list, [&](const auto& one) { return nameOf(one) == name; });
  return found == std::end(list) ? -1 : int(found - std::begin(list));
}

/// The first element called `name`, or what it points to; null if there is none. Linear: lists of a plan are short,
/// except points (Plan::findPoint).
template <typename List>
auto* named(const List& list, std::string_view name) {
  const int index = findNamed(list, name);
  const auto found = std::begin(list) + std::max(0, index);
  if constexpr (requires { found->get(); })
    return index < 0 ? nullptr : found->get();
  else
    return index < 0 ? nullptr : &*found;
}

/// Appends a value unless it is there. Linear, for short lists.
template <typename T>
void addOnce(std::vector<T>& to, std::type_identity_t<T> value) {
  if (std::ranges::find(to, value) == to.end()) to.push_back(std::move(value));
}

}  // namespace expc::base
