#pragma once

#include <memory>

#include "runtime/worker/device/device.h"

namespace expc::device {

/// `beside`: on a stream of its own; else on the one that computes.
std::unique_ptr<CopyQueue> makeCudaCopyQueue(c10::DeviceIndex index, bool beside);

/// HostMemory, from torch's caching allocator of pinned memory.
std::shared_ptr<void> cudaPinnedMemory(size_t bytes);

}  // namespace expc::device
