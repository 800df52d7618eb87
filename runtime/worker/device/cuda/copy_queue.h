#pragma once

#include <memory>

#include "runtime/worker/device/device.h"

namespace expc::device {

/// `beside`: on a stream of its own; else on the one that computes.
std::unique_ptr<CopyQueue> makeCudaCopyQueue(c10::DeviceIndex index, bool beside);

/// From torch's caching allocator of pinned memory.
HostMemory cudaPinnedMemory();

}  // namespace expc::device
