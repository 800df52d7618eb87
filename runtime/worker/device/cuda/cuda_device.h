#pragma once

#include "runtime/worker/device/device.h"

namespace expc::device {

/// NVIDIA GPUs through libtorch_cuda. CUDA starts when a device is opened, never before a fork.
Backend cudaBackend();

}  // namespace expc::device
