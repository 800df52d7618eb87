#include "runtime/machine/null_gpus.h"

#include <fmt/format.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/ADT/StringSwitch.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <utility>

#include "runtime/base/failure.h"
#include "runtime/machine/nvml.h"

namespace expc::machine {
namespace {

constexpr const char* kNvml = "libnvidia-ml.so.1";
/// Loading it loads all others, before any that torch's wheels bring.
constexpr const char* kPreload = "libnullgpu_preload.so";
constexpr unsigned kMostCards = 64;

/// The cards that are asked for, as the libraries read them.
std::vector<std::pair<std::string, std::string>> cardVariables(const NullGpus& asked) {
  std::vector<std::pair<std::string, std::string>> variables;
  if (asked.cards > 0) variables.emplace_back("NULLGPU_CARDS", std::to_string(asked.cards));
  if (!asked.memory.empty()) variables.emplace_back("NULLGPU_MEMORY", asked.memory);
  return variables;
}

bool isMemory(llvm::StringRef text) {
  const llvm::StringRef number = text.take_while([](char c) { return c >= '0' && c <= '9'; });
  return !number.empty() && llvm::StringSwitch<bool>(text.drop_front(number.size()))
                                .Cases("", "B", "KiB", "MiB", "GiB", "TiB", true)
                                .Cases("KB", "MB", "GB", "TB", true)
                                .Default(false);
}

}  // namespace

void Variables::set(const std::string& name, const std::string& value) {
  const char* before = std::getenv(name.c_str());
  before_.emplace_back(name, before ? std::optional<std::string>(before) : std::nullopt);
  setenv(name.c_str(), value.c_str(), 1);
}

Variables::~Variables() {
  for (const auto& [name, value] : before_) value ? setenv(name.c_str(), value->c_str(), 1) : unsetenv(name.c_str());
}

bool isNullUuid(std::string_view uuid) { return llvm::StringRef(uuid).starts_with("GPU-6e756c6c"); }

llvm::Expected<NullGpus> nullGpusFrom(std::string_view text, const std::string& folder) {
  NullGpus asked;
  if (text == "found") return asked;
  const auto [cards, memory] = llvm::StringRef(text).split('x');
  const bool has_memory = cards.size() < text.size();
  if (!llvm::to_integer(cards, asked.cards, 10) || asked.cards == 0 || asked.cards > kMostCards ||
      (has_memory && !isMemory(memory))) {
    return base::failure(
        "--null-gpus {}: expected a number of cards up to {}, with their memory if it matters, as in 4 or "
        "4x94GiB, or 'found' for those that the machine shows",
        text, kMostCards);
  }
  asked.memory = memory.str();
  for (const char* name : {kNvml, kPreload}) {
    if (std::filesystem::exists(std::filesystem::path(folder) / name)) continue;
    return base::failure("--null-gpus {}: {} is not in {}: `make cuda` builds the null GPU and the worker for it", text,
                         name, folder);
  }
  asked.library = (std::filesystem::path(folder) / kNvml).string();
  return asked;
}

void askNullNvml(Machine& machine) {
  Variables variables;
  for (const auto& [name, value] : cardVariables(*machine.null_gpus)) variables.set(name, value);
  askNvml(machine, machine.null_gpus->library);
}

/// Puts `entry` before what is in a variable of paths, unless it is there.
static void prepend(std::vector<std::string>& environment, const char* variable, const std::string& entry) {
  const char* others = std::getenv(variable);
  const std::string before = others ? others : "";
  if (before.find(entry) == std::string::npos)
    environment.push_back(std::string(variable) + "=" + entry + (before.empty() ? "" : ":" + before));
}

std::vector<std::string> nullEnvironment(const Machine& machine, const std::string& machine_file) {
  std::vector<std::string> environment{"EXPC_NVML_LIBRARY=" + machine.nvml_library};
  if (machine.null_gpus) {
    for (const auto& [name, value] : cardVariables(*machine.null_gpus)) environment.push_back(name + "=" + value);
  }
  const char* shared = std::getenv("NULLGPU_MACHINE");  // which commands do not inherit
  environment.push_back("NULLGPU_MACHINE=" + (shared ? std::string(shared) : machine_file));
  // Libraries that a machine shows by itself may be there without the one that brings them to the front.
  const std::filesystem::path preload = std::filesystem::path(machine.nvml_library).parent_path() / kPreload;
  if (std::filesystem::exists(preload)) {
    // What torch needs, whose search path is fixed, and what the program needs itself, before which no preloaded
    // library's own needs are met.
    prepend(environment, "LD_PRELOAD", preload.string());
    prepend(environment, "LD_LIBRARY_PATH", preload.parent_path().string());
  }
  return environment;
}

}  // namespace expc::machine
