#pragma once

// NVIDIA's management library by dlopen: present only with a driver, never linked.

#include <string>
#include <vector>

#include "runtime/machine/machine.h"

namespace expc::machine {

struct NvmlAnswer {
  std::string driver;
  int cuda_driver = 0;             // Machine::cuda_driver
  std::string library;             // its path
  std::vector<Gpu> gpus;           // without cores and memory nodes
  std::vector<std::string> notes;  // why there is nothing, or less than nvidia-smi shows, when that is worth telling
};

/// Asks `library`; without one libnvidia-ml.so.1, or the library that EXPC_NVML_LIBRARY names (for tests and odd
/// installations).
NvmlAnswer askNvml(const std::string& library = "");

/// Keeps what CUDA_VISIBLE_DEVICES names (indices, UUIDs or their beginnings), in its order; like CUDA it stops at the
/// first entry that names nothing, which is then noted. Parts of a GPU ("MIG-...") are not measured on.
std::vector<Gpu> visible(std::vector<Gpu> gpus, std::string_view cuda_visible_devices, std::string& note);

}  // namespace expc::machine
