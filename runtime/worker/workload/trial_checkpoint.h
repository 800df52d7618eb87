#pragma once

#include "runtime/worker/workload/checkpoint.h"
#include "runtime/worker/workload/workload.h"

namespace expc::workload {

/// Of a quality trial: workload, point, seed, epochs, ranks and parameters give its name; how it computes (torch,
/// device, threads, instruction set) must agree as well, since it changes the last bits. Where checkpoints are kept
/// counts for neither.
TrialIdentity identityOf(const TrialContext& context);

/// The newest checkpoint of a trial, which must be the same one on every rank; the first rank makes the folder ready
/// for the next ones. Every rank calls it.
llvm::Expected<std::optional<CheckpointFolder::Checkpoint>> newestOfAll(TrialContext& context,
                                                                        const CheckpointFolder& folder);

}  // namespace expc::workload
