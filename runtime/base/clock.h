#pragma once

// Lengths of time and the system's clocks, in seconds.

#include <chrono>
#include <ctime>

namespace expc::base {

/// The clock for lengths of time, which nobody sets.
using Clock = std::chrono::steady_clock;

inline double secondsBetween(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

/// Seconds from a moment until now.
inline double secondsSince(Clock::time_point moment) { return secondsBetween(moment, Clock::now()); }

/// A time in seconds.
inline double secondsOf(const timespec& time) { return double(time.tv_sec) + 1e-9 * double(time.tv_nsec); }

/// A clock's reading; 0 if it has none, as that of a thread that has ended.
inline double secondsOn(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return secondsOf(time);
}

/// Seconds since the machine was started, including those that it slept (CLOCK_BOOTTIME). Nobody can set this
/// clock.
inline double bootSeconds() { return secondsOn(CLOCK_BOOTTIME); }

}  // namespace expc::base
