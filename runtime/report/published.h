#pragma once

#include <optional>

#include "runtime/plan/plan.h"

namespace expc::report {

/// What the plan's references give for a term over points: a published metric, or a comparison of published ones. A
/// value without an interval; nothing where some part is not published. Of several references the first that has a
/// value counts.
std::optional<double> publishedValue(const plan::Plan& plan, const plan::Term& term);
std::optional<double> publishedValue(const plan::Plan& plan, const plan::Point& point, const plan::Metric& metric);

/// Names and files of the references that a report shows values of: "table2 (table2.csv)".
std::string referencesText(const plan::Plan& plan);

}  // namespace expc::report
