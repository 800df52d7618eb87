#pragma once

// The energy counter of an NVIDIA GPU, from the management library by dlopen: it is there with a driver, never linked.

#include <memory>
#include <optional>
#include <string>

namespace expc::device {

/// Joules between two readings of a counter; nothing without both, and where it did not move: its steps are of 20 to
/// 100 ms, and no trial takes no energy.
std::optional<double> energyBetween(std::optional<double> before, std::optional<double> after);

class NvmlEnergy {
 public:
  /// No device: joules() gives nothing.
  NvmlEnergy() = default;
  /// The GPU at a PCI address as CUDA writes it, "0000:17:00.0". Asks libnvidia-ml.so.1, or EXPC_NVML_LIBRARY.
  explicit NvmlEnergy(const std::string& pci_bus);

  /// Since the driver was loaded; the counter moves every 20 to 100 ms. Nothing without a driver, on GPUs before Volta,
  /// and for a part of a GPU (MIG).
  std::optional<double> joules() const;

 private:
  struct Counter;
  std::shared_ptr<const Counter> counter_;
};

}  // namespace expc::device
