#pragma once

#include <string>

#include "runtime/analysis/judgement.h"
#include "runtime/export/source.h"

namespace expc::exports {

/// Everything that is to be said of a verdict beside it, a line each: "how sure: 95 % confidence: …".
std::vector<std::string> explanationOf(const Source& source, const plan::Criterion& criterion,
                                       const analysis::CriterionResult& result);

/// "gpus=2: 1.24x [1.20x, 1.28x], n=7".
std::string cellLine(const plan::Plan& plan, const plan::Criterion& criterion, const analysis::CellEstimate& cell);

}  // namespace expc::exports
