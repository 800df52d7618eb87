#include <chrono>

#include "nullgpu/core/activity.h"

namespace nullgpu {
namespace {

template <typename Clock>
int64_t nanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
}

}  // namespace

/// Runs steadily, and counts from where the system's clock does, as CUPTI's does.
uint64_t now() {
  static const int64_t offset = nanoseconds<std::chrono::system_clock>() - nanoseconds<std::chrono::steady_clock>();
  return uint64_t(nanoseconds<std::chrono::steady_clock>() + offset);
}

}  // namespace nullgpu
