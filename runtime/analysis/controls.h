#pragma once

#include "runtime/analysis/cells.h"
#include "runtime/analysis/judgement.h"

namespace expc::analysis {

/// Judges each control by each metric that a criterion with a confidence compares (all metrics of its kind if none
/// does), and marks the criteria that it leaves untrusted. Their verdicts stay what the intervals make them.
void judgeControls(const Evidence& evidence, Judgement& judgement);

}  // namespace expc::analysis
