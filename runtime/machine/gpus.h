#pragma once

// The GPUs of a machine: what NVIDIA's management library says of them; and null cards, which allocate, queue and copy,
// and compute nothing (nullgpu/). A run takes null cards only where `--null-gpus` asks for them; what it measures on
// them is marked and never judged.

#include <llvm/Support/Error.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/machine/machine.h"

namespace expc::machine {

/// Every null card is known by the beginning of its uuid, which spells "null".
bool isNullUuid(std::string_view uuid);

/// Variables of this process, which the libraries of null cards read when they are first asked. They are as before when
/// it ends. For moments with one thread.
class Variables {
 public:
  Variables() = default;
  Variables(const Variables&) = delete;
  ~Variables();
  void set(const std::string& name, const std::string& value);

 private:
  std::vector<std::pair<std::string, std::optional<std::string>>> before_;
};

/// What the text of `--null-gpus` means: "4", "4x94GiB", or "found" for the cards that the machine shows by itself.
/// `folder` has the libraries of nullgpu/. The error names what is missing, or how the option is written.
llvm::Expected<NullGpus> nullGpusFrom(std::string_view text, const std::string& folder);

/// The machine's driver and GPUs, which have no cores and memory nodes yet: those that NVML shows (base/nvml.h) and
/// CUDA_VISIBLE_DEVICES leaves, or those that `machine.null_gpus` asks for and no others. Notes why there is nothing,
/// or less than nvidia-smi shows, when that is worth telling. For moments with one thread.
void readGpus(Machine& machine);

/// Keeps what CUDA_VISIBLE_DEVICES names (indices, UUIDs or their beginnings), in its order; like CUDA it stops at the
/// first entry that names nothing, which is then noted. Parts of a GPU ("MIG-...") are not measured on.
std::vector<Gpu> visible(std::vector<Gpu> gpus, std::string_view cuda_visible_devices, std::string& note);

/// "NAME=value" of what a process needs to run on the null cards of `machine`. Processes that are given the same
/// `machine_file` are on one machine, where each sees what the others do.
std::vector<std::string> nullEnvironment(const Machine& machine, const std::string& machine_file);

}  // namespace expc::machine
