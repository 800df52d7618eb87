#pragma once

#include <cupti_activity.h>

#include <memory>
#include <optional>

#include "runtime/worker/profile/activity.h"

namespace expc::profile {

/// A GPU's totals from CUPTI's activity records, summed by a thread of CUPTI's. Where CUPTI does not start, or another
/// tool has it, the findings have no totals and a note that says why. One at a time in a process.
std::unique_ptr<Probe> makeCuptiProbe();

/// One of CUPTI's records in our words; nothing for kinds that are not summed. `name` points into the record or into
/// CUPTI's table of names.
std::optional<Activity> activityOf(const CUpti_Activity& record);

/// How a CUPTI call ended, for a note: "CUPTI_ERROR_NOT_INITIALIZED".
std::string resultText(CUptiResult result);

}  // namespace expc::profile
