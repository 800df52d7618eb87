#pragma once

#include "runtime/worker/comm/communicator.h"

namespace expc::comm {

/// Tensors on the CUDA device `index` go through NCCL from now on; those on the CPU through Gloo as before.
void addNccl(Communicator& communicator, int index);

}  // namespace expc::comm
