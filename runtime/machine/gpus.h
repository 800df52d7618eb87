#pragma once

// The GPUs of a machine, from NVIDIA's management library (NVML); and null cards, which allocate, queue and copy but
// compute nothing (nullgpu/). A run takes null cards only if `--null-gpus` asks for them, and what it measures on them
// is marked and never judged.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/machine/machine.h"

namespace expc::machine {

/// Whether a uuid is that of a null card: it begins with the letters "null" in hexadecimal.
bool isNullUuid(std::string_view uuid);

/// Sets environment variables of this process and restores the former ones at its end. Libraries of null cards read
/// theirs when they are first asked. Use it only while there is one thread, since setenv is not thread-safe.
class Variables {
 public:
  Variables() = default;
  Variables(const Variables&) = delete;
  ~Variables();
  void set(const std::string& name, const std::string& value);

 private:
  std::vector<std::pair<std::string, std::optional<std::string>>> before_;
};

/// Parses the value of `--null-gpus`: "4", "4x94GiB", or "found" for cards that the machine shows by itself. `folder`
/// has the libraries of nullgpu/. The error says which library is missing, or how the option is written.
Expected<NullGpus> nullGpusFrom(std::string_view text, const std::string& folder);

/// Fills driver and GPUs of `machine`, without cores and memory nodes: the GPUs that NVML shows (base/nvml.h) and
/// CUDA_VISIBLE_DEVICES leaves, or only those that `machine.null_gpus` asks for. Adds a note if there are none, or
/// fewer than nvidia-smi shows, where that is worth telling. For moments with one thread.
void readGpus(Machine& machine);

/// Keeps the GPUs that `cuda_visible_devices` names (by indices, UUIDs or their beginnings), in its order. Like CUDA it
/// stops at the first entry that names nothing, which goes to `note`. Parts of a GPU ("MIG-…") are not used.
std::vector<Gpu> visible(std::vector<Gpu> gpus, std::string_view cuda_visible_devices, std::string& note);

/// The variables, each "NAME=value", that a process needs to run on the null cards of `machine`. Processes with the
/// same `machine_file` share one simulated machine and see what the others do on its cards.
std::vector<std::string> nullEnvironment(const Machine& machine, const std::string& machine_file);

}  // namespace expc::machine
