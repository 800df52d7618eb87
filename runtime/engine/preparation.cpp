// Preparations: what commands run once before their first trial (`prepare` in the study), such as builds and downloads.
//
// Each point with a preparation has a folder below the results, named by a hash of the command's digest and of the
// parameters and data that the preparation reads; points that agree in these share it. A preparation runs like a trial,
// through the launcher, but without a record in the store. A mark beside the folder says that it was finished.

#include <algorithm>
#include <filesystem>
#include <ranges>
#include <set>

#include "runtime/base/entry.h"
#include "runtime/base/failure.h"
#include "runtime/base/files/files.h"
#include "runtime/base/files/results_folder.h"
#include "runtime/base/format.h"
#include "runtime/base/llvm.h"
#include "runtime/engine/campaign.h"
#include "runtime/engine/inputs/data.h"
#include "runtime/engine/launch/interrupts.h"
#include "runtime/engine/not_given.h"
#include "runtime/plan/command.h"
#include "runtime/store/match.h"

namespace expc::engine {
namespace {

namespace fs = std::filesystem;

/// The mark that stands beside the folder once the preparation ended well. A folder without it was cut off and is made
/// anew. It is beside, not inside, so that the program's files are the program's alone.
std::string markOf(const std::string& folder) { return folder + ".done"; }

/// Whether the folder is there and its preparation was finished.
bool isFilled(const std::string& folder) {
  std::error_code failed;
  return fs::exists(markOf(folder), failed) && fs::is_directory(folder, failed);
}

/// The digest of a prepared file in the newest run that has one; "" if none does.
std::string lastDigest(const store::Contents& known, const std::string& file) {
  for (const auto& [id, run] : known.runs | std::views::reverse)
    if (const auto* found = entryOf(run.match.data_digests, file); found && !found->empty()) return *found;
  return "";
}

}  // namespace

Error prepareCommand(const Setup& setup, const std::string& results, launch::TrialRunner& runner,
                     ProgressListener& listener, const launch::Clock& clock, const Point& point,
                     const std::string& folder) {
  const Plan& plan = setup.plan;
  const plan::Workload& workload = setup.workloadOf(point);
  const plan::Preparation& preparation = *workload.command->preparation;
  const std::string name = fs::path(folder).filename().string();
  // The seed is that of the design, not of a block: all blocks use the one result.
  TrialRequest request =
      requestFor(setup, point, name, plan.design.kinds.front().kind, plan.design.seed % kCommandSeeds);
  protocol::TrialSpec& spec = request.spec;
  // A preparation may use all devices, since no trial runs beside it.
  std::vector<unsigned> all;
  for (unsigned slot = 0; slot < setup.slots.size(); ++slot) all.push_back(slot);
  completeForCommand(request, plan, point, {{setup.machine, setup.slots, all, ""}}, "127.0.0.1", folder,
                     commandVariables(setup), /*ranks=*/false);
  // The command without its metrics, expectations and exit codes: only the end of the preparation counts.
  spec.command = plan::Command{preparation.arguments, preparation.timeout_seconds, {}, {}};
  spec.prepared = folder;
  request.log_prefix = fmt::format("{}/prepare-{}", logFolder(results), name);
  request.timeout_seconds = preparation.timeout_seconds.value_or(judge::kDefaultTimeoutSeconds);
  TRY(inputs::makeTrialFolder(folder, setup.command_files[point.workload]));
  const double begin = clock.boot();
  auto end = TRY(runner.run(request));
  if (end.status == TrialStatus::Interrupted && Interrupts::requested()) return Error::success();
  if (end.status != TrialStatus::Valid)
    return failure("preparing workload {} for {} failed: {}{} (output: {}); no trial was started", workload.name,
                   plan.label(point), end.reason,
                   notGivenText(end.reason, *workload.command, setup.command_environment, plan.root, folder),
                   plan::outputsOf(folder));
  // Some programs end with 0 although their last writes failed on a full disk.
  if (const int full = inputs::noRoomBeside(folder)) return files::cannotWrite(results, full);
  if (const std::string left = leftBehindText(end, "the preparation"); !left.empty()) listener.message(left);
  listener.say("prepared {} for {} in {}", workload.name, plan.label(point), durationText(clock.boot() - begin));
  // Last, so that the mark never stands beside an incomplete folder.
  return files::write(markOf(folder), "", files::Links::Refused);
}

Error digestPrepared(Setup& setup, const std::string& results, const store::Contents& known, const inputs::Tick& tick) {
  auto& digests = setup.match.data_digests;
  std::set<std::string> seen;
  for (const Point* started : setup.plan.started()) {
    const Point& point = *started;
    const bool filled = isFilled(preparedFolder(setup, point, results));
    for (const std::string& file : store::preparedFilesOf(setup.plan, point, digests)) {
      const std::string path = results + "/" + file;
      std::error_code failed;
      if (!filled) {
        // Not known before the preparation has run. A point that is not started gets an entry only if a run had one.
        std::string last = lastDigest(known, file);
        if (!last.empty() || point.startable()) digests[file] = std::move(last);
      } else if (!fs::is_regular_file(path, failed)) {
        // The folder lacks this file, so nothing about it has to agree.
        digests.erase(file);
      } else if (seen.insert(file).second) {
        // Points share folders; each file is read once.
        setup.files.watch(file, path);
        digests[file] = TRY(inputs::digestPath(path, tick));
      }
    }
  }
  return Error::success();
}

Expected<bool> prepareCommands(const Env& env, Launcher& launcher) {
  const inputs::Tick tick = [&env] { return env.store.heartbeat(); };
  launch::TrialRunner runner(launcher, env.clock, tick);
  bool any = false;
  for (const Point* started : env.setup.plan.started()) {
    const Point& point = *started;
    if (Interrupts::requested()) return false;
    const std::string folder = point.startable() ? preparedFolder(env.setup, point, env.options.results) : "";
    if (folder.empty() || isFilled(folder)) continue;
    TRY(prepareCommand(env.setup, env.options.results, runner, env.listener, env.clock, point, folder));
    any = true;
  }
  if (!any || Interrupts::requested()) return false;
  // The files exist now: replace the assumed digests by real ones, and report whether any assumption was wrong.
  const auto before = env.setup.match.data_digests;
  TRY(digestPrepared(env.setup, env.options.results, env.store.contents(), tick));
  return before != env.setup.match.data_digests;
}

}  // namespace expc::engine
