#include "runtime/engine/command_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>

#include "runtime/channel/port.h"
#include "runtime/plan/devices.h"

namespace expc::engine {
namespace {

using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;

/// What a path of data in a value is replaced by, wherever it stands.
void replacePaths(Value& value, const std::function<std::string(const std::string&)>& replacement) {
  if (const auto text = value.getAsString()) {
    if (std::string other = replacement(text->str()); !other.empty()) value = std::move(other);
  } else if (Array* array = value.getAsArray()) {
    for (Value& element : *array) replacePaths(element, replacement);
  } else if (Object* object = value.getAsObject()) {
    for (auto& member : *object) replacePaths(member.second, replacement);
  }
}

/// Adds the process of one node.
void addProcess(TrialRequest& request, const NodePart& part, std::vector<std::string> variables) {
  const std::vector<machine::Slot>& all = part.all;
  std::set<int> cores;
  std::string devices;
  Array used;
  for (const unsigned slot : part.own) {
    cores.insert(all[slot].cores.begin(), all[slot].cores.end());
    if (all[slot].gpu) devices += (devices.empty() ? "" : ",") + all[slot].uuid;
    used.push_back(all[slot].index);
  }
  // For each rank that it may start.
  size_t threads = std::max<size_t>(1, cores.size() / std::max<size_t>(1, part.own.size()));
  if (!request.spec.parameters.get("gpus")) {
    for (const machine::Slot& slot : all) cores.insert(slot.cores.begin(), slot.cores.end());
    threads = std::max<size_t>(1, cores.size());
  }
  request.spec.slots.push_back(Object{{"device", all[part.own.front()].gpu ? "cuda" : "cpu"},
                                      {"index", all[part.own.front()].index},
                                      {"indices", std::move(used)},
                                      {"cores", Array(std::vector<int>(cores.begin(), cores.end()))}});
  for (std::string own : {std::string("CUDA_DEVICE_ORDER=PCI_BUS_ID"), "CUDA_VISIBLE_DEVICES=" + devices,
                          fmt::format("OMP_NUM_THREADS={}", threads)})
    variables.push_back(std::move(own));
  request.environment.push_back(std::move(variables));
}

}  // namespace

Object absoluteParameters(const plan::Plan& plan, Object parameters) {
  for (auto& parameter : parameters)
    replacePaths(parameter.second, [&](const std::string& path) {
      const bool data = std::ranges::find(plan.data_paths, path) != plan.data_paths.end();
      return data ? (std::filesystem::path(plan.root) / path).lexically_normal().string() : "";
    });
  return parameters;
}

Object withCopies(Object parameters, const std::map<std::string, ScratchCopy>& copies) {
  for (auto& parameter : parameters)
    replacePaths(parameter.second, [&](const std::string& path) {
      const auto found = copies.find(path);
      return found == copies.end() ? "" : found->second.to;
    });
  return parameters;
}

void completeForCommand(TrialRequest& request, const plan::Plan& plan, const plan::Point& point,
                        const std::vector<NodePart>& parts, const std::string& address, const std::string& folder,
                        const std::vector<std::string>& variables) {
  plan::TrialSpec& spec = request.spec;
  spec.command = plan.workloads[point.workload].command;
  spec.folder = folder;
  spec.world_size = parts.size();
  spec.parameters = absoluteParameters(plan, std::move(spec.parameters));
  const bool meet = plan::nodesOf(point) != 0;
  const int port = meet ? channel::freePort() : 0;
  for (unsigned rank = 0; rank < parts.size(); ++rank) {
    addProcess(request, parts[rank], variables);
    if (!meet) continue;
    for (std::string& own : rankVariables({rank, spec.world_size, 0, 1, address, port, parts[rank].interface}))
      request.environment.back().push_back(std::move(own));
  }
}

}  // namespace expc::engine
