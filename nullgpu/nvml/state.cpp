// Power, clocks, heat.

#include "nullgpu/nvml/query.h"

using namespace nullgpu;
using namespace nullgpu::nvml;

namespace {

constexpr unsigned kPowerLimit = 500'000, kLowestPowerLimit = 200'000;  // mW
constexpr unsigned kTopClock = 1980;                                    // MHz

/// A clock's frequency; the largest there is where `top`.
nvmlReturn_t clockOf(nvmlDevice_t device, nvmlClockType_t type, unsigned* mhz, bool top) {
  if (type < NVML_CLOCK_GRAPHICS || type > NVML_CLOCK_VIDEO) return NVML_ERROR_INVALID_ARGUMENT;
  return answerWith(device, mhz, [=](unsigned, const CardState& state) {
    if (type == NVML_CLOCK_MEM) return state.memory_clock_mhz;
    return top ? kTopClock : state.clock_mhz;
  });
}

nvmlReturn_t answerReasons(nvmlDevice_t device, unsigned long long* reasons) {
  return answerWith(device, reasons, [](unsigned, const CardState& state) { return state.throttle; });
}

nvmlReturn_t answerLimit(nvmlDevice_t device, unsigned* milliwatts) {
  return answerWith(device, milliwatts, [](unsigned, const CardState&) { return kPowerLimit; });
}

}  // namespace

extern "C" {

nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device, unsigned long long* millijoules) {
  return answerWith(device, millijoules, [](unsigned, const CardState& state) { return state.millijoules; });
}

nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned* milliwatts) {
  return answerWith(device, milliwatts, [](unsigned, const CardState& state) { return state.milliwatts; });
}

nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device, unsigned* milliwatts) {
  return answerLimit(device, milliwatts);
}
nvmlReturn_t nvmlDeviceGetPowerManagementLimit(nvmlDevice_t device, unsigned* milliwatts) {
  return answerLimit(device, milliwatts);
}
nvmlReturn_t nvmlDeviceGetPowerManagementDefaultLimit(nvmlDevice_t device, unsigned* milliwatts) {
  return answerLimit(device, milliwatts);
}
nvmlReturn_t nvmlDeviceGetPowerManagementLimitConstraints(nvmlDevice_t device, unsigned* low, unsigned* high) {
  return query(
      device,
      [&](unsigned, const CardState&) {
        *low = kLowestPowerLimit;
        *high = kPowerLimit;
        return NVML_SUCCESS;
      },
      low, high);
}

nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned* mhz) {
  return clockOf(device, type, mhz, false);
}
nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned* mhz) {
  return clockOf(device, type, mhz, true);
}

nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t device, unsigned long long* reasons) {
  return answerReasons(device, reasons);
}
nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device, unsigned long long* reasons) {
  return answerReasons(device, reasons);
}
nvmlReturn_t nvmlDeviceGetSupportedClocksEventReasons(nvmlDevice_t device, unsigned long long* reasons) {
  return answerWith(device, reasons, [](unsigned, const CardState&) { return nvmlClocksEventReasonAll; });
}
nvmlReturn_t nvmlDeviceGetSupportedClocksThrottleReasons(nvmlDevice_t device, unsigned long long* reasons) {
  return nvmlDeviceGetSupportedClocksEventReasons(device, reasons);
}

nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, nvmlTemperatureSensors_t sensor, unsigned* celsius) {
  if (sensor != NVML_TEMPERATURE_GPU) return NVML_ERROR_INVALID_ARGUMENT;
  return answerWith(device, celsius, [](unsigned, const CardState& state) { return state.celsius; });
}
nvmlReturn_t nvmlDeviceGetTemperatureV(nvmlDevice_t device, nvmlTemperature_t* temperature) {
  if (!temperature || temperature->sensorType != NVML_TEMPERATURE_GPU) return NVML_ERROR_INVALID_ARGUMENT;
  if (temperature->version != nvmlTemperature_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  return answerWith(device, &temperature->temperature, [](unsigned, const CardState& state) { return state.celsius; });
}

/// The highest state under work, the lowest without.
nvmlReturn_t nvmlDeviceGetPerformanceState(nvmlDevice_t device, nvmlPstates_t* state) {
  return answerWith(device, state, [](unsigned, const CardState& now) {
    return now.throttle & nvmlClocksEventReasonGpuIdle ? NVML_PSTATE_8 : NVML_PSTATE_0;
  });
}

}  // extern "C"
