#pragma once

#include "runtime/worker/workload/image/parameters.h"
#include "runtime/worker/workload/workload.h"

namespace expc::workload::image {

/// A profile trial: `warmup` steps, then `steps` profiled ones. Where EXPC_TRACE names a file without its ending, a few
/// more steps are traced into EXPC_TRACE.rank0.json, …; nothing is measured of these.
llvm::Expected<plan::Event> runProfiled(TrialContext& context, const Parameters& parameters, const Settings& settings);

}  // namespace expc::workload::image
