#pragma once

#include <llvm/Support/Error.h>

#include "runtime/worker/workload/llm/parameters.h"
#include "runtime/worker/workload/parameter_reader.h"
#include "runtime/worker/workload/workload.h"

namespace expc::workload::llm {

/// A timed trial: `warmup` steps, then the clock around `steps` steps (runtime/worker/workload/clock.h).
llvm::Expected<plan::Event> runTimed(TrialContext& context, const Parameters& parameters, const Settings& settings);

}  // namespace expc::workload::llm
