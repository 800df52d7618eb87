// Power, clocks, heat.

#include "nullgpu/nvml/query.h"

using namespace nullgpu;
using namespace nullgpu::nvml;

namespace {

constexpr unsigned kPowerLimit = 500'000;  // mW

/// For questions that a member of the card's state answers.
template <typename Value, typename Number>
nvmlReturn_t answerOf(nvmlDevice_t device, Number CardState::* member, Value* out) {
  return answerWith(device, [=](unsigned, const CardState& state) { return state.*member; }, out);
}

}  // namespace

extern "C" {

nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device, unsigned long long* millijoules) {
  return answerOf(device, &CardState::millijoules, millijoules);
}

nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned* milliwatts) {
  return answerOf(device, &CardState::milliwatts, milliwatts);
}

nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device, unsigned* milliwatts) {
  return answerWith(device, kPowerLimit, milliwatts);
}
nvmlReturn_t nvmlDeviceGetPowerManagementDefaultLimit(nvmlDevice_t device, unsigned* milliwatts) {
  return answerWith(device, kPowerLimit, milliwatts);
}

nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned* mhz) {
  if (type < NVML_CLOCK_GRAPHICS || type > NVML_CLOCK_VIDEO) return NVML_ERROR_INVALID_ARGUMENT;
  return answerOf(device, type == NVML_CLOCK_MEM ? &CardState::memory_clock_mhz : &CardState::clock_mhz, mhz);
}

nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t device, unsigned long long* reasons) {
  return answerOf(device, &CardState::throttle, reasons);
}
nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device, unsigned long long* reasons) {
  return answerOf(device, &CardState::throttle, reasons);
}

nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, nvmlTemperatureSensors_t sensor, unsigned* celsius) {
  if (sensor != NVML_TEMPERATURE_GPU) return NVML_ERROR_INVALID_ARGUMENT;
  return answerOf(device, &CardState::celsius, celsius);
}

}  // extern "C"
