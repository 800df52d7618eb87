#pragma once

#include <c10/core/Device.h>

#include <memory>
#include <utility>
#include <vector>

#include "runtime/worker/device/device.h"

namespace expc::device {

/// Peaks of torch's allocator over several devices. What a graph works on is allocated while it is recorded and at no
/// launch, so the allocator's own peaks know nothing of it.
class AllocatorPeaks {
 public:
  explicit AllocatorPeaks(std::vector<c10::DeviceIndex> devices) : devices_(std::move(devices)) {}
  /// Since the last reset().
  MemoryPeaks since() const;
  void reset();
  /// Begins to count anew and keeps what was counted: for a part of the work. part() has the part alone.
  void beginPart();
  MemoryPeaks part() const;
  /// At some time since the last reset() as much was taken.
  void note(const MemoryPeaks& peaks);

 private:
  std::vector<c10::DeviceIndex> devices_;
  MemoryPeaks noted_;
};

/// `peaks` counts what launches work on, too, and lives longer.
std::unique_ptr<Graph> makeCudaGraph(c10::DeviceIndex index, AllocatorPeaks& peaks);

}  // namespace expc::device
