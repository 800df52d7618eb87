#pragma once

#include "runtime/worker/device/device.h"

namespace expc::device {

/// The CPU: operators run with as many threads as the slot has cores.
Backend cpuBackend();

}  // namespace expc::device
