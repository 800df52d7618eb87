#pragma once

#include <string>
#include <string_view>

#include "runtime/analysis/judgement.h"

namespace expc::exports {

/// What a criterion is to whoever waits for an answer: a verdict that is provisional or untrusted does not stand, so it
/// is undecided, as for the exit code.
enum class Outcome { Holds, Fails, Undecided, NotAsked };
Outcome outcomeOf(const analysis::CriterionResult& result);

/// "PASS", "FAIL (untrusted)": the verdict as the report words it, with its marks.
std::string markedVerdict(const analysis::CriterionResult& result);

/// Everything that is to be said of a verdict beside it, a sentence or more each: why, marks, remarks, domain, scope.
std::vector<std::string> explanationOf(const plan::Plan& plan, const plan::Criterion& criterion,
                                       const analysis::CriterionResult& result);

/// The criterion of a result; none for one that the plan does not have.
const plan::Criterion* criterionOf(const plan::Plan& plan, const analysis::CriterionResult& result);

/// "gpus=2: 1.24x [1.20x, 1.28x], n=7".
std::string cellLine(const plan::Plan& plan, const plan::Criterion& criterion, const analysis::CellEstimate& cell);

}  // namespace expc::exports
