#pragma once

// Things that have names: which one is meant, what there is, and that each is there once.

#include <algorithm>
#include <concepts>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/check/expression.h"
#include "compiler/diag/names.h"

namespace expc::check {

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

/// What gathers the names of all that some lists hold, where somebody asks; they must live until then.
template <typename... Lists>
auto namesOf(const Lists&... lists) {
  return [&] {
    std::vector<std::string> names;
    const auto add = [&](const auto& list) {
      for (const auto& one : list) names.emplace_back(nameOf(one));
    };
    (add(lists), ...);
    return names;
  };
}

/// Of a word, or anything else with a name at a place.
template <typename Named>
diag::Refusal unknownName(diag::Emitter& emitter, std::string_view what, const Named& thing,
                          const diag::Candidates& candidates, std::string_view of = "",
                          std::optional<std::string>* meant = nullptr) {
  return diag::unknownName(emitter, thing.range, what, thing.name, candidates, of, meant);
}
template <typename Named>
diag::Refusal duplicateName(diag::Emitter& emitter, std::string_view what, const Named& thing, source::Range first) {
  return diag::duplicateName(emitter, thing.range, what, thing.name, first);
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

/// Whether nothing of a list is called as `thing` is; else reports the first one that is.
template <typename Named, typename List>
bool isFresh(diag::Emitter& emitter, std::string_view what, const Named& thing, const List& list) {
  const auto* first = named(list, thing.name);
  if (first) duplicateName(emitter, what, thing, first->range);
  return !first;
}

/// The names of one block so far.
class Once {
 public:
  /// False after reporting that the name is there already.
  bool add(diag::Emitter& emitter, std::string_view what, const std::string& name, source::Range range) {
    const auto [at, fresh] = first_.emplace(name, range);
    if (!fresh) diag::duplicateName(emitter, range, what, name, at->second);
    return fresh;
  }
  bool add(diag::Emitter& emitter, std::string_view what, const ast::Identifier& word) {
    return add(emitter, what, word.name, word.range);
  }

 private:
  NameMap<source::Range> first_;
};

/// Adds a `let`, a unit or a column that nothing has read yet; false after reporting one of a name that is there.
bool declareLet(diag::Emitter& emitter, std::string_view what, const ast::LetDecl& declaration,
                NameMap<LetEntry>& entries);

}  // namespace expc::check
