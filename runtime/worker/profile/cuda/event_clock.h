#pragma once

#include <c10/core/Device.h>

#include <memory>

#include "runtime/worker/profile/range.h"

namespace expc::profile {

/// Phases of the device by events on the thread's current stream, so that no phase waits for the host; Load, which is
/// the host's own, by the steady clock.
std::unique_ptr<PhaseClock> makeEventClock(c10::Device device);

}  // namespace expc::profile
