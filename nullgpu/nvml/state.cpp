// Power, clocks, heat.

#include "nullgpu/nvml/query.h"

using namespace nullgpu;
using namespace nullgpu::nvml;

namespace {

constexpr unsigned kPowerLimit = 500'000, kLowestPowerLimit = 200'000;  // mW
constexpr unsigned kTopClock = 1980;                                    // MHz
constexpr uint64_t kAllReasons = 0x1ff;

/// A clock's frequency; the largest there is where `top`.
Result clockOf(Device* device, int type, unsigned* mhz, bool top) {
  if (type < GraphicsClock || type > VideoClock) return InvalidArgument;
  return answerWith(device, mhz, [=](unsigned, const CardState& state) {
    if (type == MemoryClock) return state.memory_clock_mhz;
    return top ? kTopClock : state.clock_mhz;
  });
}

Result answerReasons(Device* device, unsigned long long* reasons) {
  return answerWith(device, reasons, [](unsigned, const CardState& state) { return state.throttle; });
}

Result answerLimit(Device* device, unsigned* milliwatts) {
  return answerWith(device, milliwatts, [](unsigned, const CardState&) { return kPowerLimit; });
}

}  // namespace

extern "C" {

Result nvmlDeviceGetTotalEnergyConsumption(Device* device, unsigned long long* millijoules) {
  return answerWith(device, millijoules, [](unsigned, const CardState& state) { return state.millijoules; });
}

Result nvmlDeviceGetPowerUsage(Device* device, unsigned* milliwatts) {
  return answerWith(device, milliwatts, [](unsigned, const CardState& state) { return state.milliwatts; });
}

Result nvmlDeviceGetEnforcedPowerLimit(Device* device, unsigned* milliwatts) { return answerLimit(device, milliwatts); }
Result nvmlDeviceGetPowerManagementLimit(Device* device, unsigned* milliwatts) {
  return answerLimit(device, milliwatts);
}
Result nvmlDeviceGetPowerManagementDefaultLimit(Device* device, unsigned* milliwatts) {
  return answerLimit(device, milliwatts);
}
Result nvmlDeviceGetPowerManagementLimitConstraints(Device* device, unsigned* low, unsigned* high) {
  return query(
      device,
      [&](unsigned, const CardState&) {
        *low = kLowestPowerLimit;
        *high = kPowerLimit;
        return Success;
      },
      low, high);
}

Result nvmlDeviceGetClockInfo(Device* device, int type, unsigned* mhz) { return clockOf(device, type, mhz, false); }
Result nvmlDeviceGetMaxClockInfo(Device* device, int type, unsigned* mhz) { return clockOf(device, type, mhz, true); }

Result nvmlDeviceGetCurrentClocksEventReasons(Device* device, unsigned long long* reasons) {
  return answerReasons(device, reasons);
}
Result nvmlDeviceGetCurrentClocksThrottleReasons(Device* device, unsigned long long* reasons) {
  return answerReasons(device, reasons);
}
Result nvmlDeviceGetSupportedClocksEventReasons(Device* device, unsigned long long* reasons) {
  return answerWith(device, reasons, [](unsigned, const CardState&) { return kAllReasons; });
}
Result nvmlDeviceGetSupportedClocksThrottleReasons(Device* device, unsigned long long* reasons) {
  return nvmlDeviceGetSupportedClocksEventReasons(device, reasons);
}

Result nvmlDeviceGetTemperature(Device* device, int sensor, unsigned* celsius) {
  if (sensor != 0) return InvalidArgument;  // the one that there is
  return answerWith(device, celsius, [](unsigned, const CardState& state) { return state.celsius; });
}

/// The highest state under work, the lowest without.
Result nvmlDeviceGetPerformanceState(Device* device, int* state) {
  constexpr uint64_t kIdle = 1;
  return answerWith(device, state, [](unsigned, const CardState& now) { return now.throttle & kIdle ? 8 : 0; });
}

}  // extern "C"
