#pragma once

// How long a trial may take before it is a timeout.

#include <optional>
#include <string_view>

#include "runtime/plan/plan.h"
#include "runtime/store/records.h"

namespace expc::engine {

inline constexpr double kDefaultTimeoutSeconds = 1800;
inline constexpr double kLeastTimeoutSeconds = 60;
inline constexpr double kTimeoutFactor = 10;

/// `asked` (--timeout) for every trial if given. Otherwise, once the point has valid trials of the kind: ten times the
/// longest, at least a minute. For a point not measured yet: half an hour, or ten times the longest valid trial of that
/// kind if that is more.
double trialTimeout(std::optional<double> asked, const store::Results& results, plan::TrialKind kind,
                    std::string_view point);

}  // namespace expc::engine
