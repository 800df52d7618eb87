#pragma once

// The probe of a GPU, by CUPTI. Apart from what needs torch's CUDA libraries, so that null GPUs can
// test it.

#include <cupti_activity.h>

#include <memory>
#include <optional>

#include "runtime/worker/profile/activity.h"

namespace expc::profile {

/// Makes the probe that sums a GPU's activity. If CUPTI does not start, or another tool holds it,
/// the findings have no totals and a note that says why. One at a time in a process.
std::unique_ptr<Probe> makeCuptiProbe();

/// Converts a record of CUPTI; nothing for kinds that are not summed. The name points into the
/// record or into CUPTI's own table.
std::optional<Activity> activityOf(const CUpti_Activity& record);

/// The name of a result of CUPTI, for notes: "CUPTI_ERROR_NOT_INITIALIZED".
std::string resultText(CUptiResult result);

}  // namespace expc::profile
