#pragma once

// A command as JSON: in plans, and in the specification of a trial.

#include "runtime/plan/json.h"
#include "runtime/plan/plan.h"

namespace expc::plan {

llvm::json::Object toJson(const Command& command);
llvm::json::Object toJson(const Expectation& expectation);
Command readCommand(JsonErrors& errors, const llvm::json::Value& value, const JsonPath& at);

}  // namespace expc::plan
