#pragma once

#include "runtime/worker/workload/image/checkpoint.h"
#include "runtime/worker/workload/workload.h"

namespace expc::workload::image {

/// Of a quality trial: workload, point, seed, epochs, ranks and parameters give its name; how it computes (torch,
/// device, threads, instruction set) must agree as well, since it changes the last bits. Where checkpoints are kept
/// counts for neither.
TrialIdentity identityOf(const TrialContext& context);

}  // namespace expc::workload::image
