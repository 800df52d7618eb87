#pragma once

#include <ATen/core/Tensor.h>
#include <llvm/Support/Error.h>

#include <cstdint>
#include <vector>

#include "runtime/worker/comm/communicator.h"

namespace expc::workload {

/// Takes the losses (scalars) of the last steps, of `steps_done` in all, and gives their sums over the ranks. An error
/// names the first step whose loss is not finite. Waits for the device; every rank calls it.
llvm::Expected<std::vector<double>> takeLosses(comm::Communicator& communicator, std::vector<at::Tensor>& losses,
                                               int64_t steps_done);

}  // namespace expc::workload
