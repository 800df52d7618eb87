#pragma once

#include <llvm/Support/JSON.h>

#include <string>
#include <vector>

#include "runtime/analysis/course.h"

namespace expc::exports {

/// Each course with its changes; without `all` those that changed, and how many did not.
std::string courseText(const plan::Plan& plan, const std::vector<analysis::Course>& courses, bool all, unsigned width,
                       bool colour);
/// "expc.history/1".
llvm::json::Value courseJson(const plan::Plan& plan, const std::vector<analysis::Course>& courses);

}  // namespace expc::exports
