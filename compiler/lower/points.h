#pragma once

#include <llvm/Support/JSON.h>

#include <string>
#include <vector>

#include "compiler/expand/grid.h"
#include "compiler/lower/lower.h"
#include "runtime/plan/plan.h"

namespace expc::lower {

/// A value as a parameter: base units; whole numbers stay whole; variants as {"mnist": ["data/mnist"]}.
llvm::json::Value toJson(const check::Value& value);

/// The id of a point (DESIGN §3): the hash of workload, version and the active parameters that differ from their
/// default, with numbers as exact decimals in base units. What is not in it changes no id: defaults, order, the study's
/// other levels.
std::string pointId(const check::Workload& workload, const expand::Assignment& at);

/// Every active parameter with its value.
llvm::json::Object parametersOf(const check::Workload& workload, const expand::Assignment& at);

/// Appends the paths in a value of `type` that are not in `paths` yet.
void collectPaths(const check::Value& value, const check::Type& type, std::vector<std::string>& paths);

/// Why a machine cannot run a point, by the rules with `system`; "" if it can.
std::string unavailable(const check::Study& study, const expand::Assignment& at, const SystemFacts& facts);

}  // namespace expc::lower
