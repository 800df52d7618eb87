#pragma once

// Graphs on a GPU, and peaks of memory that include what graphs work on.

#include <c10/core/Device.h>

#include <memory>
#include <utility>
#include <vector>

#include "runtime/worker/device/device.h"

namespace expc::device {

/// Peaks of torch's allocator over several devices. A graph's memory is allocated while it is
/// recorded and not at its launches, so the allocator's own peaks miss it: launches note it here.
class AllocatorPeaks {
 public:
  explicit AllocatorPeaks(std::vector<c10::DeviceIndex> devices) : devices_(std::move(devices)) {}
  /// The peaks since the last reset().
  MemoryPeaks since() const;
  void reset();
  /// Starts counting a part of the work, whose peaks part() gives. Earlier peaks are kept for
  /// since().
  void beginPart();
  MemoryPeaks part() const;
  /// Notes that this much memory was in use at some time since the last reset().
  void note(const MemoryPeaks& peaks);

 private:
  std::vector<c10::DeviceIndex> devices_;
  MemoryPeaks noted_;
};

/// Makes a graph on device `index`. Its launches are counted in `peaks`, which must outlive it.
std::unique_ptr<Graph> makeCudaGraph(c10::DeviceIndex index, AllocatorPeaks& peaks);

}  // namespace expc::device
