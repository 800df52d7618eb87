#pragma once

// Reads the system's clocks in seconds.

#include <ctime>

namespace expc::base {

inline double secondsOf(const timespec& time) {
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// A clock's reading; 0 if it has none, as that of a thread that has ended.
inline double secondsOn(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return secondsOf(time);
}

/// Seconds since the machine was started, suspended ones included.
inline double bootSeconds() { return secondsOn(CLOCK_BOOTTIME); }

}  // namespace expc::base
