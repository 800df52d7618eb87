#pragma once

#include <cupti_activity.h>

#include <optional>

#include "runtime/worker/profile/activity.h"

namespace expc::profile {

/// One of CUPTI's records in our words; nothing for kinds that are not summed. `name` points into the record or into
/// CUPTI's table of names.
std::optional<Activity> activityOf(const CUpti_Activity& record);

/// How a CUPTI call ended, for a note: "CUPTI_ERROR_NOT_INITIALIZED".
std::string resultText(CUptiResult result);

}  // namespace expc::profile
