#pragma once

#include <string_view>
#include <vector>

#include "compiler/check/value/rational.h"
#include "compiler/check/value/value.h"

namespace expc::check {

/// A function of estimates whose value stands in files: `config(model, "hidden_size")`. Its name and types are part of
/// the language; who reads the files is handed in (check::check).
struct LookupFunction {
  std::string_view name;
  std::string_view takes;             // its arguments, for messages
  std::vector<Type::Kind> arguments;  // Error: of any kind
  Type type;                          // of the value
};

const std::vector<LookupFunction>& lookupFunctions();

/// Index into lookupFunctions, or -1.
int findLookup(std::string_view name);

}  // namespace expc::check
