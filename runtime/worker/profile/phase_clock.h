#pragma once

// How long the phases of a profiled trial take.

#include <array>
#include <memory>

#include "runtime/worker/profile/range.h"

namespace expc::profile {

struct PhaseTime {
  double seconds = 0;
  uint64_t count = 0;
};
using PhaseTimes = std::array<PhaseTime, kPhases>;

/// One for each kind of device. Used by the thread that trains, and by no other.
class PhaseClock {
 public:
  virtual ~PhaseClock() = default;
  /// A phase does not begin again before it has ended.
  virtual void begin(Phase phase) = 0;
  virtual void end(Phase phase) = 0;
  /// Sums since the clock was made or last asked. Waits for the device.
  virtual PhaseTimes take() = 0;
};

/// By the host's steady clock: about 50 ns a phase.
std::unique_ptr<PhaseClock> makeHostClock();

}  // namespace expc::profile
