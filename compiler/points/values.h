#pragma once

#include <llvm/Support/JSON.h>

#include <string>
#include <vector>

#include "compiler/check/model.h"

namespace expc::points {

/// A value as a parameter: base units; whole numbers stay whole; variants as {"mnist": ["data/mnist"]}, lists and
/// tuples as arrays, records as objects.
llvm::json::Value toJson(const check::Value& value);
/// The same with numbers as decimal text, so that no rounding can join or part two ids.
llvm::json::Value toExactJson(const check::Value& value);

/// The argument template as it is written, `options` as a list of its form: what a command is known by.
llvm::json::Array argumentsJson(const check::Command& command);

/// Appends the paths in a value of `type` that are not in `paths` yet.
void collectPaths(const check::Value& value, const check::Type& type, std::vector<std::string>& paths);

}  // namespace expc::points
