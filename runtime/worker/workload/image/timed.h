#pragma once

#include <llvm/Support/Error.h>

#include "runtime/worker/workload/image/parameters.h"
#include "runtime/worker/workload/parameter_reader.h"
#include "runtime/worker/workload/workload.h"

namespace expc::workload::image {

/// A timed trial: `warmup` steps, then the clock around `steps` steps (docs/layers/engine.md).
llvm::Expected<plan::Event> runTimed(TrialContext& context, const Parameters& parameters, const Settings& settings);

}  // namespace expc::workload::image
