#pragma once

// Null cards: GPUs that allocate, queue and copy, and compute nothing (nullgpu/). A run takes them only where
// `--null-gpus` asks for them; what it measures on them is marked and never judged.

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

/// As askNvml, with the cards that `machine.null_gpus` asks for, and of its library. For moments with one thread.
void askNullNvml(Machine& machine);

/// "NAME=value" of what a process needs to run on the null cards of `machine`. Processes that are given the same
/// `machine_file` are on one machine, where each sees what the others do.
std::vector<std::string> nullEnvironment(const Machine& machine, const std::string& machine_file);

}  // namespace expc::machine
