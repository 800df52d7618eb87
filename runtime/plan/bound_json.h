#pragma once

// A bound as JSON: of criteria, of derived metrics, and of what a command's output must be.

#include "runtime/plan/json.h"
#include "runtime/plan/plan.h"

namespace expc::plan {

llvm::json::Object toJson(const Bound& bound);
Bound readBound(JsonErrors& errors, const llvm::json::Value& value, const JsonPath& at);

}  // namespace expc::plan
