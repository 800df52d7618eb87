#pragma once

// Tells what there is to see beside the verdicts (analysis/description.h): effects, rankings, fronts, drifts, outliers.

#include <optional>
#include <string>
#include <vector>

#include "runtime/analysis/description.h"
#include "runtime/plan/plan.h"
#include "runtime/report/document.h"
#include "runtime/store/records.h"

namespace expc::report {

/// What there is to say, in the order in which one wants to know it; empty parts are left out.
std::vector<Part> describedParts(const plan::Plan& plan, const analysis::Description& description,
                                 const store::Results& results);

/// What a table shows that asks for a description; nothing of one that asks for values.
std::optional<Part> describedTable(const plan::Plan& plan, const analysis::Description& description,
                                   const plan::Table& table);

/// A sentence for a warm-up and one for a trend, where there are such.
std::vector<std::string> driftTexts(const analysis::Drift& drift);

}  // namespace expc::report
