#pragma once

// Lists of things with names: find one, collect the names for a suggestion, and report unknown and repeated
// names. These wrap diag's functions for anything that has `name` and `range`.

#include <string>
#include <string_view>
#include <vector>

#include "compiler/check/scope.h"
#include "runtime/base/find.h"

namespace expc::check {

using base::findNamed, base::named, base::nameOf;

/// A function that collects the names of some lists when a diagnostic asks for candidates. It refers to the
/// lists, which must live until then.
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

/// diag::unknownName and diag::duplicateName for anything with a name and a range.
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

/// Whether nothing in a list has the name of `thing`; reports the first that has.
template <typename Named, typename List>
bool isFresh(diag::Emitter& emitter, std::string_view what, const Named& thing, const List& list) {
  const auto* first = named(list, thing.name);
  if (first) duplicateName(emitter, what, thing, first->range);
  return !first;
}

/// The names that one block has used so far, each with its first place.
class Once {
 public:
  /// Adds a name; false after reporting that it is there already.
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

/// Adds a `let`, a unit or a column, to be resolved later; false after reporting a repeated name.
bool declareLet(diag::Emitter& emitter, std::string_view what, const ast::LetDecl& declaration,
                NameMap<LetEntry>& entries);

}  // namespace expc::check
