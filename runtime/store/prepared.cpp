#include "runtime/store/prepared.h"

#include <fmt/format.h>

#include <filesystem>
#include <string_view>
#include <utility>

#include "runtime/plan/command.h"
#include "runtime/plan/json.h"
#include "runtime/store/match.h"

namespace expc::store {

static constexpr std::string_view kPrepared = "${prepared}/";

std::vector<std::string> argumentsAt(const plan::Point& point, const std::vector<std::string>& arguments) {
  std::map<std::string, std::string> values;
  for (const char* own : {"seed", "trial", "trial_folder", "prepared", "steps", "warmup", "epochs"})
    values[own] = fmt::format("${{{}}}", own);
  for (const auto& [name, value] : point.parameters) values[name.str()] = plan::argumentText(value);
  auto texts = plan::expandArguments(arguments, values);
  if (texts) return std::move(*texts);
  llvm::consumeError(texts.takeError());  // the compiler has checked those of a plan of now
  return {};
}

std::string preparedFolder(const plan::Plan& plan, const plan::Point& point,
                           const std::map<std::string, std::string>& digests) {
  const plan::Workload& workload = plan.workloads[point.workload];
  if (!workload.command || !workload.command->preparation) return "";
  plan::Point told;  // with those parameters alone that the preparation is told
  for (const std::string& argument : workload.command->preparation->arguments) {
    auto names = plan::namesIn(argument);
    if (!names) return llvm::consumeError(names.takeError()), "";
    for (const std::string& name : *names)
      if (const llvm::json::Value* value = point.parameters.get(name)) told.parameters[name] = *value;
  }
  llvm::json::Object data;
  for (const std::string& path : dataPathsOf(told, plan.data_paths))
    if (const auto digest = digests.find(path); digest != digests.end()) data[path] = digest->second;
  const auto command = digests.find(commandKey(workload));
  llvm::json::Object key{{"workload", plan::jsonText(workload.name)},
                         {"command", command == digests.end() ? "" : command->second},
                         {"parameters", llvm::json::Object(told.parameters)},
                         {"data", std::move(data)}};
  return "prepared/" + plan::shortHash(plan::canonicalJson(std::move(key)));
}

std::set<std::string> preparedFilesOf(const plan::Plan& plan, const plan::Point& point,
                                      const std::map<std::string, std::string>& digests) {
  const std::string folder = preparedFolder(plan, point, digests);
  if (folder.empty()) return {};
  const plan::Command& command = *plan.workloads[point.workload].command;
  std::set<std::string> files;
  for (const auto* arguments : {&command.arguments, &command.before})
    for (const std::string& argument : argumentsAt(point, *arguments)) {
      const size_t at = argument.find(kPrepared);
      if (at == std::string::npos) continue;
      const std::string file = argument.substr(at + kPrepared.size());
      const std::string path = std::filesystem::path(folder + "/" + file).lexically_normal().string();
      // One that is another for each trial is none that all of them share.
      if (file.find("${") == std::string::npos && llvm::StringRef(path).starts_with(folder + "/")) files.insert(path);
    }
  return files;
}

}  // namespace expc::store
