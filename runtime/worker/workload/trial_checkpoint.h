#pragma once

#include <optional>
#include <string>

#include "runtime/worker/workload/checkpoint.h"
#include "runtime/worker/workload/workload.h"

namespace expc::workload {

/// Of a quality trial: workload, point, seed, epochs, ranks, parameters and what these have it read (rows, images,
/// weights, adapters, tokenizer: the engine's digest of them, in EXPC_DATA_DIGEST) give its name; how it computes
/// (torch, device, threads, instruction set) must agree as well, since it changes the last bits. Where checkpoints are
/// kept counts for neither.
TrialIdentity identityOf(const TrialContext& context);

/// Where a trial keeps its checkpoints, and the newest that is there.
struct Kept {
  std::optional<CheckpointFolder> folder;
  std::optional<CheckpointFolder::Checkpoint> newest;
};

/// For the trial's parameter `checkpoints`; neither where it is empty. The newest must be the same one on every rank;
/// the first rank makes the folder ready for the next ones. Every rank calls it.
llvm::Expected<Kept> openCheckpoints(TrialContext& context, const std::string& path);

/// What a reader is told of a trial that went on from a checkpoint.
std::string wentOnFrom(const CheckpointFolder::Checkpoint& checkpoint, int64_t epochs);

}  // namespace expc::workload
