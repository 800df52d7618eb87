#pragma once

// What a thread calls between ncclGroupStart and ncclGroupEnd is done at the end, so that one thread can serve several
// ranks.

#include <cuda_runtime_api.h>

#include <memory>

#include "nullgpu/nccl/communicator.h"

namespace nullgpu::nccl {

void beginGroup();
/// Meets the ranks of what was begun, then issues what was called: collectives in their order, then the messages of
/// each communicator as one operation. Throws the Failure of the first call that could not be done; nothing is issued
/// then.
void endGroup();

/// The call answered `answer`: so will the group that it belongs to, if any.
void noteInGroup(ncclResult_t answer);

/// Waits until all ranks have come, now or at the end of the group.
void meet(const std::shared_ptr<Communicator>& communicator);
/// Issues `call` now or at the end of the group.
void issue(const std::shared_ptr<Communicator>& communicator, const Call& call, cudaStream_t stream);

}  // namespace nullgpu::nccl
