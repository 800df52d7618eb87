#include "compiler/check/formula/lookup.h"

#include <algorithm>

namespace expc::check {

const std::vector<LookupFunction>& lookupFunctions() {
  using Kind = Type::Kind;
  static const std::vector<LookupFunction> all = {
      {"config", "a model and a name in its config.json", {Kind::Error, Kind::String}, Type::number()},
      {"row_tokens",
       "\"longest\" or \"learnt\", rows of a batch, the longest that one may be, data, template, row limit, tokenizer, "
       "model and whether rows are pairs",
       {Kind::String, Kind::Number, Kind::Number, Kind::Error, Kind::Error, Kind::Number, Kind::Error, Kind::Error,
        Kind::Bool},
       Type::number(Dimension::of(Dimension::Tokens))},
  };
  return all;
}

int findLookup(std::string_view name) {
  const auto& all = lookupFunctions();
  const auto found = std::ranges::find(all, name, &LookupFunction::name);
  return found == all.end() ? -1 : static_cast<int>(found - all.begin());
}

}  // namespace expc::check
