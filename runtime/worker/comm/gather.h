#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "runtime/worker/comm/communicator.h"

namespace expc::comm {

/// What gatherOnHost holds besides tensor and result, on every rank's device.
inline constexpr int64_t kGatherBytes = 64 << 20;

/// Every rank's tensor (all of one shape and type) on the host of rank `root`, as one [world size, ...]; undefined on
/// the others. It crosses in pieces, so that no device needs room for the whole.
at::Tensor gatherOnHost(Communicator& communicator, const at::Tensor& own, unsigned root,
                        int64_t buffer_bytes = kGatherBytes);

}  // namespace expc::comm
