#include "runtime/engine/rehearse_command.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <optional>
#include <utility>

#include "runtime/base/files/files.h"
#include "runtime/base/format.h"
#include "runtime/base/llvm.h"
#include "runtime/engine/inputs/trial_folders.h"
#include "runtime/engine/launch/interrupts.h"
#include "runtime/engine/launch/rank_process.h"
#include "runtime/rehearsal/records.h"
#include "runtime/store/match.h"

namespace expc::engine {
namespace {

/// The steps after which `import expc` ends a program that marks them, and the seconds after which any other is ended.
constexpr int kMarked = 2, kUnmarked = 1, kCommandSeconds = 60;
/// The folder of the records, below that of a trial or, for preparations and services, of rehearsals.
constexpr const char* kRecords = "/.records";
/// The variable that names the folder to the null libraries.
constexpr const char* kRecord = "NULLGPU_RECORD=";

EngineOptions optionsIn(const std::string& folder) {
  EngineOptions options;
  options.results = folder;
  return options;
}

TrialEnd endedBy(TrialStatus status, std::string reason = "") {
  TrialEnd end;
  end.status = status;
  end.reason = std::move(reason);
  return end;
}

}  // namespace

CommandRehearser::CommandRehearser(Setup& setup, const std::string& folder, std::optional<double> seconds,
                                   launch::TrialRunner& runner, ProgressListener& listener)
    : setup_(setup),
      folder_(folder),
      seconds_(std::max(1.0, seconds.value_or(kCommandSeconds))),
      runner_(runner),
      listener_(listener),
      options_(optionsIn(folder)),
      services_(setup, options_, runner, files_, folders_, listener, 1) {
  std::error_code failed;
  files::removeTree(folder_ + kRecords);
  std::filesystem::create_directories(folder_ + kRecords, failed);
  setup.command_environment.variables.push_back(kRecord + folder_ + kRecords);
}

Expected<TrialEnd> CommandRehearser::run(const Point& point, TrialRequest request,
                                         std::function<void(const protocol::Event&)> progress) {
  if (std::string why = prepared(point, request.spec); !why.empty())
    return endedBy(TrialStatus::Failed, std::move(why));
  const store::Block block;
  const std::vector<NodePart> parts = partsOf(setup_, setup_.lane(0), block, point);
  TRY(complete(point, parts, request));
  passOver();
  const ServedTrial trial{point, block, position_++, 1, parts};
  while (true) {
    auto ready = TRY(services_.ready(0, trial));
    if (ready || Interrupts::requested()) break;
    TRY(runner_.attend());
  }
  if (Interrupts::requested()) return endedBy(TrialStatus::Interrupted);
  if (!services_.death(0)) passOver();
  services_.address(0, request);
  const TrialEnd* dead = services_.death(0);
  auto end = dead ? Expected<TrialEnd>(endedBy(dead->status, dead->reason))
                  : runner_.run(request, std::move(progress), [this] { return services_.death(0); });
  if (!end || end->status == TrialStatus::Interrupted) return end;
  takeRecords(request.spec.folder, *end);
  const std::vector<int> stuck = services_.trialOver(0, *end);
  if (!stuck.empty()) return launch::besideStuck(launch::stuckText(stuck.front()));
  return end;
}

Error CommandRehearser::end() {
  services_.end(0);
  while (!runner_.isIdle()) TRY(runner_.attend());
  return Error::success();
}

std::string CommandRehearser::prepared(const Point& point, protocol::TrialSpec& spec) {
  // The name has no digests of files, which may change, so each rehearsal prepares again.
  const std::string name = store::preparedFolder(setup_.plan, point, {});
  if (name.empty()) return "";
  spec.prepared = folder_ + "/" + name;
  const auto [known, is_new] = prepared_.emplace(spec.prepared, "");
  if (is_new)
    known->second =
        toString(prepareCommand(setup_, folder_, runner_, listener_, launch::Clock::real(), point, spec.prepared));
  return known->second;
}

Error CommandRehearser::complete(const Point& point, const std::vector<NodePart>& parts, TrialRequest& request) {
  protocol::TrialSpec& spec = request.spec;
  if (const KindDesign* design = plan::designOf(setup_.plan, spec.kind)) spec.settings = design->settings;
  for (const auto& [name, value] :
       {std::pair("steps", kMarked), std::pair("warmup", kUnmarked), std::pair("seconds", int(seconds_))})
    spec.settings[name] = value;
  if (spec.settings.get("epochs")) spec.settings["epochs"] = 1;
  const std::string folder = folder_ + "/trials/" + point.id;
  TRY(inputs::makeTrialFolder(folder, setup_.command_files[point.workload]));
  std::error_code failed;
  std::filesystem::create_directories(folder + kRecords, failed);
  std::vector<std::string> variables = commandVariables(setup_);
  std::erase_if(variables, [](StringRef variable) { return variable.starts_with(kRecord); });
  variables.push_back(kRecord + folder + kRecords);
  completeForCommand(request, setup_.plan, point, parts, "127.0.0.1", folder, variables,
                     setup_.workloadOf(point).command->ranks);
  spec.memory_limit /= spec.world_size;
  request.timeout_seconds = judge::kDefaultTimeoutSeconds;
  return Error::success();
}

void CommandRehearser::passOver() {
  for (const nullgpu_record& record : rehearsal::recordsIn(folder_ + kRecords))
    if (kill(pid_t(record.pid), 0) != 0) over_.insert(record.pid);
}

void CommandRehearser::takeRecords(const std::string& folder, TrialEnd& end) const {
  std::vector<nullgpu_record> records = rehearsal::recordsIn(folder + kRecords);
  for (const nullgpu_record& record : rehearsal::recordsIn(folder_ + kRecords))
    if (!over_.contains(record.pid)) records.push_back(record);
  if (const std::string lack = rehearsal::lackOfMemory(records); !lack.empty() && end.status == TrialStatus::Failed) {
    end.status = TrialStatus::Infeasible;
    end.reason += fmt::format(" ({})", lack);
  }
  if (!end.rehearsed) return;
  protocol::Rehearsed counted = rehearsal::rehearsedOf(records);
  if (counted.ranks.empty()) {
    end.status = TrialStatus::Failed;
    end.reason = fmt::format("no process of the command used a simulated GPU. {}", rehearsal::kStandFor);
    return;
  }
  counted.ranks.front().host_memory = end.rehearsed->ranks.front().host_memory;
  end.rehearsed = std::move(counted);
}

}  // namespace expc::engine
