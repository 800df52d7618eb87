#pragma once

// Vega-Lite specifications with holes (assets/*.vl.json): a file says how a kind of chart is drawn, and its holes are
// what the study says.

#include <llvm/Support/JSON.h>

#include <string_view>

namespace expc::report {

/// The specification in `file`, filled in. "${y.title}" is what `study` has as `title` in its object `y`; within a
/// longer text it is a part of that. What has no value is left out of its object or array. An object with "if": "NAME"
/// stays where NAME has a value that is not false; else its "else" takes its place, or it is left out too.
llvm::json::Object filled(std::string_view file, const llvm::json::Object& study);

}  // namespace expc::report
