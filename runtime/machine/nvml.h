#pragma once

// NVIDIA's management library by dlopen: present only with a driver, never linked.

#include <string>
#include <vector>

#include "runtime/machine/machine.h"

namespace expc::machine {

struct NvmlAnswer {
  std::string driver;
  std::vector<Gpu> gpus;  // without cores
  std::string note;       // why there is nothing, when that is worth telling
};

/// Asks libnvidia-ml.so.1, or the library that EXPC_NVML_LIBRARY names (for tests and odd installations).
NvmlAnswer askNvml();

/// Keeps what CUDA_VISIBLE_DEVICES names (indices, UUIDs or their beginnings), in its order; like CUDA it stops at the
/// first entry that names nothing, which is then noted.
std::vector<Gpu> visible(std::vector<Gpu> gpus, std::string_view cuda_visible_devices, std::string& note);

}  // namespace expc::machine
