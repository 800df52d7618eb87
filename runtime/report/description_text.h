#pragma once

// Describes what results show beside the verdicts (describe/description.h): effects, rankings, fronts, drifts,
// outliers. None of it decides anything, and each part says so.

#include <optional>
#include <string>
#include <vector>

#include "runtime/describe/description.h"
#include "runtime/plan/plan.h"
#include "runtime/report/document.h"
#include "runtime/store/records.h"

namespace expc::report {

/// Returns everything that there is to describe, the most wanted first; empty parts are left out.
std::vector<Part> describedParts(const Plan& plan, const describe::Description& description, const Results& results);

/// Returns the description that a table of the study asks for, such as a ranking; nothing for a table of values.
std::optional<Part> describedTable(const Plan& plan, const describe::Description& description,
                                   const plan::Table& table);

/// Returns a sentence for a warm-up and one for a trend, as far as the drift shows them.
std::vector<std::string> driftTexts(const describe::Drift& drift);

}  // namespace expc::report
