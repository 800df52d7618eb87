#include "runtime/engine/command_environment.h"

#include <fmt/format.h>
#include <llvm/ADT/StringRef.h>

#include <algorithm>
#include <map>

#include "runtime/base/failure.h"
#include "runtime/plan/json.h"
#include "runtime/plan/plan.h"

extern char** environ;

namespace expc::engine {
namespace {

using llvm::StringRef;

/// Where programs and libraries are found, and how text is read and written: a result may hang on these.
constexpr StringRef kAgree[] = {"PATH",       "LD_LIBRARY_PATH", "LANG",        "LANGUAGE",     "TZ",
                                "PYTHONPATH", "PYTHONHOME",      "VIRTUAL_ENV", "CONDA_PREFIX", "CUDA_HOME"};
/// Who runs it, and where temporary files go: these differ from job to job.
constexpr StringRef kPassed[] = {"HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "XDG_RUNTIME_DIR"};

/// Set by expc for each trial, so that what is passed would be lost.
constexpr StringRef kSet[] = {"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "OMP_NUM_THREADS",   "TMPDIR",
                              "EXPC_OUT_OF_MEMORY",   "EXPC_TRIAL",        "EXPC_TRIAL_FOLDER", "EXPC_STUDY_FOLDER",
                              "EXPC_PREPARED",        "EXPC_SEED"};

template <typename Names>
bool isAmong(const Names& names, StringRef name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

bool mustAgree(StringRef name) { return isAmong(kAgree, name) || name.starts_with("LC_"); }

}  // namespace

std::vector<std::string> ownVariables() {
  std::vector<std::string> all;
  for (char** variable = environ; *variable; ++variable) all.emplace_back(*variable);
  return all;
}

llvm::Expected<CommandEnvironment> commandEnvironment(const std::vector<std::string>& all,
                                                      const std::vector<std::string>& passed) {
  std::map<std::string, std::string> set;
  for (const std::string& variable : all) {
    const auto [name, value] = StringRef(variable).split('=');
    set.try_emplace(name.str(), value.str());
  }
  for (const std::string& name : passed) {
    if (name.find('=') != std::string::npos)
      return base::failure("--pass-env takes a name alone, not '{}': set the variable before `expc`", name);
    if (isAmong(kSet, name))
      return base::failure(
          "--pass-env {}: expc sets that variable itself for each trial; where it is to be another, let the "
          "command set it, as in command [\"env\", \"{}=${{value}}\", …]",
          name, name);
    if (!set.count(name))
      return base::failure("--pass-env {}: that variable is not set here; set it, or leave the option out", name);
  }
  CommandEnvironment environment;
  llvm::json::Object agreed;
  for (const auto& [name, value] : set) {
    const bool named = isAmong(passed, name), agrees = named || mustAgree(name);
    if (!agrees && !isAmong(kPassed, name)) continue;
    environment.variables.push_back(name + "=" + value);
    if (!agrees) continue;
    const std::string digest = plan::shortHash(value);
    agreed[name] = digest;
    environment.recorded[name] = named ? "digest " + digest : plan::jsonText(value);
  }
  environment.digest = plan::shortHash(plan::canonicalJson(std::move(agreed)));
  return environment;
}

}  // namespace expc::engine
