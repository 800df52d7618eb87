#include "runtime/worker/device/cuda/allocator_peaks.h"

#include <c10/cuda/CUDACachingAllocator.h>

#include <algorithm>

namespace expc::device {

MemoryPeaks AllocatorPeaks::part() const {
  constexpr auto kAll = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  MemoryPeaks peaks;
  for (const c10::DeviceIndex device : devices_) {
    const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(device);
    peaks.held = std::max(peaks.held, static_cast<double>(stats.reserved_bytes[kAll].peak));
    peaks.allocated = std::max(peaks.allocated, static_cast<double>(stats.allocated_bytes[kAll].peak));
  }
  return peaks;
}

MemoryPeaks AllocatorPeaks::since() const {
  const MemoryPeaks own = part();
  return {std::max(own.held, noted_.held), std::max(own.allocated, noted_.allocated)};
}

void AllocatorPeaks::reset() {
  beginPart();
  noted_ = {};
}

void AllocatorPeaks::beginPart() {
  note(part());
  for (const c10::DeviceIndex device : devices_) c10::cuda::CUDACachingAllocator::resetPeakStats(device);
}

void AllocatorPeaks::note(const MemoryPeaks& peaks) {
  noted_.held = std::max(noted_.held, peaks.held);
  noted_.allocated = std::max(noted_.allocated, peaks.allocated);
}

}  // namespace expc::device
