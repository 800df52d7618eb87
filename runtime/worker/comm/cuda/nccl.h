#pragma once

#include <string>

#include "runtime/worker/comm/communicator.h"

namespace expc::comm {

/// Tensors on the CUDA device `index` go through NCCL from now on; those on the CPU through Gloo as before. Sets
/// variables of torch that the user has not set, so that a lost rank is reported rather than the process aborted.
/// Throws when the NCCL that was loaded is not that of the header.
void addNccl(Communicator& communicator, int index);

/// Why an NCCL of that version (ncclGetVersion) cannot be used; "" if it can.
std::string ncclMismatch(int loaded);

}  // namespace expc::comm
