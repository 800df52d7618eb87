#include <unistd.h>

#include <filesystem>

#include "compiler/driver/commands.h"
#include "compiler/driver/compilation.h"
#include "compiler/driver/exit_codes.h"
#include "compiler/driver/verdicts.h"
#include "runtime/engine/engine.h"

namespace expc::driver {

namespace {

/// `expc-worker` in the folder of this program, wherever that was moved to.
std::string workerBesideThis() {
  std::error_code failed;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", failed);
  return failed ? "expc-worker" : (self.parent_path() / "expc-worker").string();
}

int runOne(const plan::Plan& plan, const RunOptions& options, const Console& console) {
  engine::EngineOptions engine_options;
  engine_options.results = options.results;
  engine_options.worker = options.worker.empty() ? workerBesideThis() : options.worker;
  engine_options.devices = options.devices;
  engine_options.timeout_seconds = options.timeout_seconds;
  engine_options.heat_up_seconds = options.heat_up_seconds;

  const std::unique_ptr<engine::ProgressListener> progress = engine::makeProgress();
  llvm::Expected<engine::RunOutcome> outcome = engine::run(plan, engine_options, *progress);
  if (!outcome) {
    console.error(outcome.takeError());
    return kError;
  }
  if (outcome->ending == engine::Ending::Interrupted) return kInterrupted;
  const int code = showVerdicts(plan, {options.results, options.html, options.json}, console);
  const bool has_verdicts = code == kSomeFail || code == kSomeUndecided;
  return options.verdicts_ok && has_verdicts ? kSuccess : code;
}

}  // namespace

int run(const RunOptions& options, const Console& console) {
  const std::optional<std::vector<plan::Plan>> plans = loadPlans(options.study, options.devices, console);
  if (!plans) return kError;
  int code = kSuccess;
  for (const plan::Plan& plan : *plans) {
    code = worse(code, runOne(plan, options, console));
    if (code == kInterrupted) break;
  }
  return code;
}

}  // namespace expc::driver
