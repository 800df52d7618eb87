// Campaign: what runs once for several trials of a command: a build, a download.

#include <fmt/format.h>

#include <filesystem>

#include "runtime/base/failure.h"
#include "runtime/engine/campaign.h"
#include "runtime/engine/launch/interrupts.h"
#include "runtime/engine/progress.h"
#include "runtime/files/files.h"
#include "runtime/plan/command.h"
#include "runtime/plan/json.h"

namespace expc::engine {
namespace {

/// Stands beside the folder once it is filled, so that one that was cut off is made anew.
std::string markOf(const std::string& folder) { return folder + ".done"; }

/// The point, with those parameters alone that the preparation is told.
plan::Point toldTo(const plan::Preparation& preparation, const plan::Point& point) {
  plan::Point told;
  for (const std::string& argument : preparation.arguments)
    for (const std::string& name : llvm::cantFail(plan::namesIn(argument)))  // they were expanded before
      if (const llvm::json::Value* value = point.parameters.get(name)) told.parameters[name] = *value;
  return told;
}

}  // namespace

std::string preparedFolder(const Setup& setup, const plan::Point& point, const std::string& results) {
  const plan::Workload& workload = setup.workloadOf(point);
  if (!workload.command || !workload.command->preparation) return "";
  const plan::Point told = toldTo(*workload.command->preparation, point);
  llvm::json::Object data;
  for (const std::string& path : store::dataPathsOf(told, setup.plan.data_paths))
    data[path] = setup.match.data_digests.at(path);
  const auto command = setup.match.data_digests.find(store::commandKey(workload));
  llvm::json::Object key{{"workload", plan::jsonText(workload.name)},
                         {"command", command == setup.match.data_digests.end() ? "" : command->second},
                         {"parameters", llvm::json::Object(told.parameters)},
                         {"data", std::move(data)}};
  return fmt::format("{}/prepared/{}", results, plan::shortHash(plan::canonicalJson(std::move(key))));
}

/// Before the first trial, so that no build runs between two that are compared.
llvm::Error Campaign::prepareCommands() {
  for (const plan::Point& point : plan_.points) {
    if (launch::Interrupts::requested()) break;
    const std::string folder = point.startable() ? preparedFolder(setup_, point, options_.results) : "";
    std::error_code failed;
    if (folder.empty() ||
        (std::filesystem::exists(markOf(folder), failed) && std::filesystem::is_directory(folder, failed)))
      continue;
    if (auto error = prepareCommand(point, folder)) return error;
  }
  return llvm::Error::success();
}

llvm::Error Campaign::prepareCommand(const plan::Point& point, const std::string& folder) {
  const plan::Workload& workload = setup_.workloadOf(point);
  const plan::Preparation& preparation = *workload.command->preparation;
  const std::string name = std::filesystem::path(folder).filename().string();
  launch::TrialRequest request = requestFor(setup_, point, name, plan_.design.kinds.front().kind, plan_.design.seed);
  plan::TrialSpec& spec = request.spec;
  std::vector<unsigned> all;
  for (unsigned slot = 0; slot < setup_.slots.size(); ++slot) all.push_back(slot);
  completeForCommand(request, plan_, point, {{setup_.machine, setup_.slots, all, ""}}, "127.0.0.1", folder,
                     commandVariables(setup_));
  spec.command = plan::Command{preparation.arguments, preparation.timeout_seconds, {}, {}};
  spec.prepared = folder;
  request.log_prefix = fmt::format("{}/prepare-{}", logFolder(options_.results), name);
  request.timeout_seconds = preparation.timeout_seconds.value_or(analysis::kDefaultTimeoutSeconds);
  if (auto error = inputs::makeTrialFolder(folder, setup_.command_files[point.workload])) return error;
  const double begin = env_.clock.boot();
  auto end = runner_.run(request);
  if (!end) return end.takeError();
  if (end->status == store::TrialStatus::Interrupted && launch::Interrupts::requested()) return llvm::Error::success();
  if (end->status != store::TrialStatus::Valid)
    return base::failure("the workload {} cannot be prepared for {}: {} (what it wrote is in {}); no trial was started",
                         workload.name, plan_.label(point), end->reason, plan::outputsOf(folder));
  env_.listener.say("prepared {} for {} in {}", workload.name, plan_.label(point),
                    durationText(env_.clock.boot() - begin));
  return files::write(markOf(folder), "", files::Links::Refused);
}

}  // namespace expc::engine
