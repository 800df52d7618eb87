#pragma once

#include <optional>
#include <string>

#include "runtime/plan/plan.h"

namespace expc::driver {

/// How long all trials of `plan` would take, from the medians of stored trials of the same points, kinds and settings;
/// points never measured count as the median of the others. Nothing where `results` holds none.
std::optional<double> estimateSeconds(const plan::Plan& plan, const std::string& results, bool null_cards);

}  // namespace expc::driver
