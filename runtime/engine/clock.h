#pragma once

// Time as the engine sees it. Durations are differences of boot time, which no one sets and which goes on while the
// machine sleeps; wall time is a label for people and for what another machine reads.

namespace expc::engine {

class Clock {
 public:
  virtual ~Clock() = default;
  /// Seconds since this machine was started (CLOCK_BOOTTIME).
  virtual double boot() const = 0;
  /// Seconds since 1970 (CLOCK_REALTIME). It may jump both ways.
  virtual double wall() const = 0;

  /// The machine's own.
  static const Clock& real();
};

/// For tests: stands still until it is moved.
class MovedClock final : public Clock {
 public:
  double boot() const override { return boot_seconds; }
  double wall() const override { return wall_seconds; }

  double boot_seconds = 1000, wall_seconds = 1.7e9;
};

}  // namespace expc::engine
