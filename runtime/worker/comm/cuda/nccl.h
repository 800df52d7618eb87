#pragma once

// NCCL as a communicator's way between GPUs.

#include <string>

#include "runtime/worker/comm/communicator.h"

namespace expc::comm {

/// Makes tensors on the CUDA device `index` go through NCCL from now on; those on the CPU stay with
/// Gloo. Sets torch's variables that the user has not set, so that a lost rank is reported instead
/// of the process being aborted. Throws std::runtime_error if the loaded NCCL is not the version of
/// the header.
void addNccl(Communicator& communicator, int index);

/// The reason why an NCCL of that version (the code of ncclGetVersion) cannot be used; "" if it
/// can.
std::string ncclMismatch(int loaded);

}  // namespace expc::comm
