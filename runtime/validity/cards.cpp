#include "runtime/validity/cards.h"

#include <llvm/ADT/StringRef.h>

#include <array>
#include <cstdlib>

#include "runtime/machine/gpus.h"

namespace expc::validity {
namespace {

// The part of NVML's binary interface that is used here (stable since driver 450).
using Device = base::Nvml::Device;
struct Process {
  unsigned pid;
  unsigned long long memory;
  unsigned gpu_instance, compute_instance;
};
constexpr unsigned kGraphicsClock = 0, kGpuSensor = 0, kUncorrected = 1, kVolatile = 0;
constexpr unsigned kEnabled = 1;
constexpr unsigned long long kIdle = 1;
constexpr size_t kMostProcesses = 256;

}  // namespace

Cards::Cards(const std::string& library, const std::vector<std::string>& environment) {
  if (library.empty()) return;
  machine::Variables variables;
  for (const std::string& variable : environment) {
    const auto [name, value] = llvm::StringRef(variable).split('=');
    if (name.starts_with("NULLGPU_") && !std::getenv(name.str().c_str())) variables.set(name.str(), value.str());
  }
  library_ = std::make_unique<base::Nvml>(library);
  look(0);
}

std::optional<CardState> Cards::look(unsigned index) const {
  Device device = library_ ? library_->device(index) : nullptr;
  if (!device) return std::nullopt;
  const base::Nvml& nvml = *library_;
  CardState state;
  unsigned long long reasons = 0, millijoules = 0, errors = 0;
  unsigned milliwatts = 0;
  if (nvml.call("nvmlDeviceGetCurrentClocksThrottleReasons", device, &reasons)) {
    state.reasons = reasons;
    state.working = (reasons & kIdle) == 0;
  }
  nvml.call("nvmlDeviceGetClockInfo", device, kGraphicsClock, &state.clock_mhz);
  nvml.call("nvmlDeviceGetTemperature", device, kGpuSensor, &state.celsius);
  if (nvml.call("nvmlDeviceGetPowerUsage", device, &milliwatts)) state.watts = milliwatts * 1e-3;
  if (nvml.call("nvmlDeviceGetTotalEnergyConsumption", device, &millijoules))
    state.joules = static_cast<double>(millijoules) * 1e-3;
  if (nvml.call("nvmlDeviceGetTotalEccErrors", device, kUncorrected, kVolatile, &errors)) state.ecc_errors = errors;
  std::array<Process, kMostProcesses> processes{};
  auto count = static_cast<unsigned>(processes.size());
  if (nvml.call("nvmlDeviceGetComputeRunningProcesses_v3", device, &count, processes.data()))
    for (unsigned i = 0; i < count; ++i) state.processes.push_back(static_cast<int>(processes[i].pid));
  return state;
}

std::optional<CardSettings> Cards::settings(unsigned index) const {
  Device device = library_ ? library_->device(index) : nullptr;
  if (!device) return std::nullopt;
  CardSettings settings;
  unsigned now = 0;
  if (library_->call("nvmlDeviceGetPersistenceMode", device, &now)) settings.persistence = now == kEnabled;
  if (library_->call("nvmlDeviceGetEnforcedPowerLimit", device, &now)) settings.power_limit = now * 1e-3;
  if (library_->call("nvmlDeviceGetPowerManagementDefaultLimit", device, &now)) settings.power_default = now * 1e-3;
  return settings;
}

}  // namespace expc::validity
