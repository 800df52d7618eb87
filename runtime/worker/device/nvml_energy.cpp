#include "runtime/worker/device/nvml_energy.h"

#include <utility>

#include "runtime/base/nvml.h"

namespace expc::device {

struct NvmlEnergy::Counter {
  base::Nvml nvml{base::Nvml::usual()};
  base::Nvml::Device device = nullptr;
};

std::optional<double> energyBetween(std::optional<double> before, std::optional<double> after) {
  if (!before || !after || *after <= *before) return std::nullopt;
  return *after - *before;
}

NvmlEnergy::NvmlEnergy(const std::string& pci_bus) {
  auto counter = std::make_shared<Counter>();
  if (counter->nvml.works() &&
      counter->nvml.call("nvmlDeviceGetHandleByPciBusId_v2", pci_bus.c_str(), &counter->device))
    counter_ = std::move(counter);
}

std::optional<double> NvmlEnergy::joules() const {
  unsigned long long millijoules = 0;
  if (!counter_ || !counter_->nvml.call("nvmlDeviceGetTotalEnergyConsumption", counter_->device, &millijoules))
    return std::nullopt;
  return static_cast<double>(millijoules) * 1e-3;
}

}  // namespace expc::device
