#pragma once

#include <chrono>

namespace expc::base {

/// The clock for lengths of time, which nobody sets.
using Clock = std::chrono::steady_clock;

inline double secondsBetween(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

}  // namespace expc::base
