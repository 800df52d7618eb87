#pragma once

// Time as the engine sees it. Durations are differences of boot time, which no one sets and which goes on while the
// machine sleeps; wall time is a label for people and for what another machine reads.

#include "runtime/base/clock.h"

namespace expc::engine::launch {

/// The system's clocks, virtual so that tests can move time.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Seconds since this machine was started (CLOCK_BOOTTIME).
  virtual double boot() const { return base::bootSeconds(); }
  /// Seconds since 1970 (CLOCK_REALTIME). It may jump both ways.
  virtual double wall() const { return base::secondsOn(CLOCK_REALTIME); }

  /// The clock of this machine.
  static const Clock& real() {
    static const Clock clock;
    return clock;
  }
};

}  // namespace expc::engine::launch
