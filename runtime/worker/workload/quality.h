#pragma once

// Quality trials, whatever they train.

#include <llvm/Support/Error.h>

#include <string>

#include "runtime/worker/workload/training.h"

namespace expc::workload {

/// `epochs` epochs between barriers, and what the training says of itself then. With a folder of checkpoints it goes on
/// from the newest of this trial. Workload, point, seed, epochs, ranks, parameters and what these have it read (rows,
/// images, weights, adapters, tokenizer: the engine's digest of them, in EXPC_DATA_DIGEST) say which trial it is; how
/// it computes (torch, device, threads, instruction set) must agree as well, since it changes the last bits. Where
/// checkpoints are kept counts for neither. The newest must be the same one on every rank. Every rank calls it.
llvm::Expected<plan::Event> qualityTrial(TrialContext& context, int64_t epochs, const std::string& checkpoints,
                                         const MakeTraining& make);

}  // namespace expc::workload
