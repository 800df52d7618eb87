#pragma once

#include <llvm/Support/Error.h>

#include "runtime/worker/workload/image/parameters.h"
#include "runtime/worker/workload/parameter_reader.h"
#include "runtime/worker/workload/workload.h"

namespace expc::workload::image {

/// A quality trial: `epochs` epochs, the test images classified after each of them outside of the clock.
llvm::Expected<plan::Event> runQuality(TrialContext& context, const Parameters& parameters, const Settings& settings);

}  // namespace expc::workload::image
