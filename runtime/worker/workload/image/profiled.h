#pragma once

#include "runtime/worker/workload/image/parameters.h"
#include "runtime/worker/workload/parameter_reader.h"
#include "runtime/worker/workload/workload.h"

namespace expc::workload::image {

/// A profile trial (runtime/worker/workload/profile.h).
llvm::Expected<plan::Event> runProfiled(TrialContext& context, const Parameters& parameters, const Settings& settings);

}  // namespace expc::workload::image
