#include "runtime/worker/device/nvml_energy.h"

#include <dlfcn.h>

#include <cstdlib>
#include <utility>

namespace expc::device {
namespace {

// The part of NVML's binary interface that is used here.
using Handle = struct OpaqueDevice*;
constexpr int kSuccess = 0;

template <typename Function>
Function* symbol(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

}  // namespace

/// Stays until the process ends, library included: nothing is gained by taking it down.
struct NvmlEnergy::Counter {
  void* library = nullptr;
  Handle device = nullptr;
  int (*total)(Handle, unsigned long long*) = nullptr;  // millijoules
};

std::optional<double> energyBetween(std::optional<double> before, std::optional<double> after) {
  if (!before || !after || *after <= *before) return std::nullopt;
  return *after - *before;
}

NvmlEnergy::NvmlEnergy(const std::string& pci_bus) {
  const char* name = std::getenv("EXPC_NVML_LIBRARY");
  auto counter = std::make_shared<Counter>();
  counter->library = dlopen(name && *name ? name : "libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!counter->library) return;
  auto* init = symbol<int()>(counter->library, "nvmlInit_v2");
  auto* find = symbol<int(const char*, Handle*)>(counter->library, "nvmlDeviceGetHandleByPciBusId_v2");
  counter->total = symbol<int(Handle, unsigned long long*)>(counter->library, "nvmlDeviceGetTotalEnergyConsumption");
  if (!init || !find || !counter->total || init() != kSuccess) return;
  if (find(pci_bus.c_str(), &counter->device) != kSuccess) counter->device = nullptr;
  if (counter->device) counter_ = std::move(counter);
}

std::optional<double> NvmlEnergy::joules() const {
  unsigned long long millijoules = 0;
  if (!counter_ || counter_->total(counter_->device, &millijoules) != kSuccess) return std::nullopt;
  return static_cast<double>(millijoules) * 1e-3;
}

}  // namespace expc::device
