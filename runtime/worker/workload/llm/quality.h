#pragma once

#include <llvm/Support/Error.h>

#include "runtime/worker/workload/llm/parameters.h"
#include "runtime/worker/workload/parameter_reader.h"
#include "runtime/worker/workload/workload.h"

namespace expc::workload::llm {

/// A quality trial: `epochs` epochs, then the rows held out.
llvm::Expected<plan::Event> runQuality(TrialContext& context, const Parameters& parameters, const Settings& settings);

}  // namespace expc::workload::llm
