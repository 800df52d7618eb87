#pragma once

// What NVIDIA's management library says of a machine's GPUs.

#include <string>
#include <vector>

#include "runtime/machine/machine.h"

namespace expc::machine {

/// Asks `library` for the machine's driver and GPUs, which have no cores and memory nodes yet; without one the usual
/// library (base/nvml.h). Notes why there is nothing, or less than nvidia-smi shows, when that is worth telling.
void askNvml(Machine& machine, const std::string& library = "");

/// Keeps what CUDA_VISIBLE_DEVICES names (indices, UUIDs or their beginnings), in its order; like CUDA it stops at the
/// first entry that names nothing, which is then noted. Parts of a GPU ("MIG-...") are not measured on.
std::vector<Gpu> visible(std::vector<Gpu> gpus, std::string_view cuda_visible_devices, std::string& note);

}  // namespace expc::machine
