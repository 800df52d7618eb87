#pragma once

// Things that have names: which one is meant, what there is, and that each is there once.

#include <string>
#include <string_view>
#include <vector>

#include "compiler/check/scope.h"
#include "runtime/base/find.h"

namespace expc::check {

using base::findNamed, base::named, base::nameOf;

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
