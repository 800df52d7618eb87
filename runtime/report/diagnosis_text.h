#pragma once

#include <string>
#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/report/document.h"
#include "runtime/simulate/diagnosis.h"

namespace expc::report {

/// What the design can be expected to find, for a reader.
std::vector<Block> diagnosisBlocks(const plan::Plan& plan, const simulate::Diagnosis& diagnosis);

/// "passes in 97 %, fails in 0 % and stays open in 3 % of 1000 simulated studies if it is as measured (1.45x
/// to 1.52x)"; "" where nothing is known of it.
std::string chancesText(const plan::Plan& plan, const plan::Criterion& criterion,
                        const simulate::CriterionDiagnosis& one, unsigned studies);

}  // namespace expc::report
