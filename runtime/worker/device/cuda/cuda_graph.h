#pragma once

#include <memory>

#include "runtime/worker/device/cuda/allocator_peaks.h"
#include "runtime/worker/device/graph.h"

namespace expc::device {

/// `peaks` counts what launches work on, too, and lives longer.
std::unique_ptr<Graph> makeCudaGraph(c10::DeviceIndex index, AllocatorPeaks& peaks);

}  // namespace expc::device
