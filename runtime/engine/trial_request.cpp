// Requests of trials: ranks of built-in workloads and processes of commands, with the variables that tell them of each
// other. The names RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and so on are those of PyTorch's torchrun, which
// Lightning, Accelerate and others read, too.

#include "runtime/engine/trial_request.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <utility>

#include "runtime/base/find.h"
#include "runtime/base/format.h"
#include "runtime/engine/inputs/data.h"
#include "runtime/engine/inputs/trial_folders.h"
#include "runtime/engine/numa.h"
#include "runtime/machine/slots.h"
#include "runtime/plan/command.h"
#include "runtime/protocol/port.h"
#include "runtime/store/match.h"

namespace expc::engine {
namespace {

using json::Array;
using json::Object;

/// A rank's place among the others, and where they meet.
struct RankPlace {
  unsigned rank = 0, world_size = 1, local_rank = 0, local_size = 1;
  std::string address = "127.0.0.1";
  int port = 0;
  std::string interface;  // network interface towards the others; "": not known, or none needed
};

/// RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT, and the interface for Gloo.
std::vector<std::string> rankVariables(const RankPlace& place) {
  std::vector<std::string> variables{fmt::format("RANK={}", place.rank),
                                     fmt::format("WORLD_SIZE={}", place.world_size),
                                     fmt::format("LOCAL_RANK={}", place.local_rank),
                                     fmt::format("LOCAL_WORLD_SIZE={}", place.local_size),
                                     "MASTER_ADDR=" + place.address,
                                     fmt::format("MASTER_PORT={}", place.port)};
  // Gloo would resolve the host's name, which may lead to an address of another network or to the loopback.
  if (!place.interface.empty() && !std::getenv("GLOO_SOCKET_IFNAME"))
    variables.push_back("GLOO_SOCKET_IFNAME=" + place.interface);
  return variables;
}

/// Adds a process on a node: its slot, which has the cores and devices of `own`, and its environment. It sees all
/// devices that the trial has there, since programs choose theirs by LOCAL_RANK.
void addProcess(TrialRequest& request, const NodePart& part, const std::vector<unsigned>& own,
                std::vector<std::string> variables) {
  const std::vector<machine::Slot>& all = part.all;
  std::set<int> cores;
  std::string devices;
  Array used;
  for (const unsigned slot : own) {
    cores.insert(all[slot].cores.begin(), all[slot].cores.end());
    used.push_back(all[slot].index);
  }
  for (const unsigned slot : part.own)
    if (all[slot].gpu) devices += (devices.empty() ? "" : ",") + all[slot].uuid;
  // OMP_NUM_THREADS counts for each rank that the program may start, so the cores are divided by the devices.
  size_t threads = std::max<size_t>(1, cores.size() / std::max<size_t>(1, own.size()));
  if (!request.spec.parameters.get("gpus")) {
    for (const machine::Slot& slot : all) cores.insert(slot.cores.begin(), slot.cores.end());
    threads = std::max<size_t>(1, cores.size());
  }
  // The slot is that of the first device, with the indices of all.
  request.spec.slots.push_back(Object{{"device", all[own.front()].gpu ? "cuda" : "cpu"},
                                      {"index", all[own.front()].index},
                                      {"indices", std::move(used)},
                                      {"cores", Array(std::vector<int>(cores.begin(), cores.end()))}});
  // Devices are named by uuid, which holds whatever the order; PCI_BUS_ID makes indices within them the same each time.
  for (std::string set : {std::string("CUDA_DEVICE_ORDER=PCI_BUS_ID"), "CUDA_VISIBLE_DEVICES=" + devices,
                          fmt::format("OMP_NUM_THREADS={}", threads)})
    variables.push_back(std::move(set));
  request.environment.push_back(std::move(variables));
}

}  // namespace

std::vector<NodePart> partsOf(const Setup& setup, const LaneDevices& lane, const store::Block& block,
                              const Point& point) {
  // The lane's first nodes; the set of devices on each changes with the number of the block.
  const unsigned nodes = lane.nodesFor(point), each = plan::devicesOf(point) / nodes;
  std::vector<NodePart> parts;
  const auto add = [&](const LaneDevices& part) {
    parts.push_back({setup.machineOf(part), part.slots, part.sets.of(each, block.number),
                     nodes > 1 ? setup.nodes->all()[part.node].interface : "", part.node});
  };
  add(lane);
  for (const LaneDevices& other : lane.beyond)
    if (parts.size() < nodes) add(other);
  return parts;
}

std::string preparedFolder(const Setup& setup, const Point& point, const std::string& results) {
  const std::string folder = store::preparedFolder(setup.plan, point, setup.match.data_digests);
  return folder.empty() ? "" : results + "/" + folder;
}

void placeRanks(TrialRequest& request, const std::vector<NodePart>& parts, bool one_process,
                const std::string& address) {
  protocol::TrialSpec& spec = request.spec;
  const unsigned each = parts.front().own.size();
  spec.world_size = one_process ? 1 : each * parts.size();
  // A port that is free on this machine is most likely free on the node where the ranks meet.
  const int port = protocol::freePort();
  const auto add = [&](const RankPlace& place, const std::string& devices) {
    std::vector<std::string>& variables = request.environment.emplace_back(rankVariables(place));
    variables.push_back("CUDA_DEVICE_ORDER=PCI_BUS_ID");
    variables.push_back("CUDA_VISIBLE_DEVICES=" + devices);
  };
  std::string devices;  // for the one process, in the order of its slots
  for (const NodePart& part : parts)
    for (unsigned local = 0; local < each; ++local) {
      const machine::Slot& given = part.all[part.own[local]];
      // Points whose place this machine lacks were marked unavailable before (markUnavailable).
      const machine::Slot slot = machine::placed(part.machine, given, placementOf(spec.parameters)).value_or(given);
      spec.slots.push_back(slot.toJson());
      if (slot.gpu) devices += (devices.empty() ? "" : ",") + slot.uuid;
      if (one_process) continue;
      const unsigned rank = request.environment.size();
      add({rank, spec.world_size, local, each, address, port, part.interface}, slot.gpu ? slot.uuid : "");
    }
  if (one_process) add({0, 1, 0, 1, address, port, ""}, devices);
}

void completeForCommand(TrialRequest& request, const Plan& plan, const Point& point, const std::vector<NodePart>& parts,
                        const std::string& address, const std::string& folder,
                        const std::vector<std::string>& variables, bool ranks) {
  protocol::TrialSpec& spec = request.spec;
  spec.command = plan::readAt(*plan.workloads[point.workload].command, point.parameters);
  spec.folder = folder;
  const unsigned each = ranks ? parts.front().own.size() : 1;
  spec.world_size = parts.size() * each;
  spec.parameters = inputs::absoluteParameters(plan, std::move(spec.parameters));
  // A process alone may start ranks of its own; variables of ours would confuse it. But it learns a port for them,
  // since torchrun would take the same one in all trials.
  const bool meet = ranks || plan::nodesOf(point) != 0;
  const int port = meet || spec.parameters.get("gpus") ? protocol::freePort() : 0;
  for (const NodePart& part : parts)
    for (unsigned local = 0; local < each; ++local) {
      const unsigned rank = request.environment.size();
      addProcess(request, part, ranks ? std::vector{part.own[local]} : part.own, variables);
      std::vector<std::string>& environment = request.environment.back();
      if (port != 0) environment.push_back(fmt::format("PET_MASTER_PORT={}", port));
      if (meet)
        llvm::append_range(environment,
                           rankVariables({rank, spec.world_size, local, each, address, port, part.interface}));
    }
}

void keepOnePerNode(TrialRequest& request) {
  protocol::TrialSpec& spec = request.spec;
  const size_t each = spec.world_size / request.nodes.size();
  Array slots;
  std::vector<std::vector<std::string>> environment;
  for (size_t rank = 0; rank < spec.world_size; rank += each) {
    slots.push_back(spec.slots[rank]);
    environment.push_back(request.environment[rank]);
  }
  spec.slots = std::move(slots);
  request.environment = std::move(environment);
  spec.world_size = request.nodes.size();
}

TrialRequest requestFor(const Setup& setup, const Point& point, std::string trial, TrialKind kind, uint64_t seed) {
  const plan::Workload& workload = setup.workloadOf(point);
  TrialRequest request;
  protocol::TrialSpec& spec = request.spec;
  spec.trial = std::move(trial);
  spec.point = point.id;
  spec.workload = workload.name;
  spec.workload_version = workload.version;
  spec.kind = kind;
  spec.parameters = point.parameters;
  spec.root = setup.plan.root;
  spec.seed = seed;
  return request;
}

TrialRequest trialRequest(const Setup& setup, const EngineOptions& options, const Traces& traces,
                          const std::vector<NodePart>& parts, const store::Block& block, const Point& point,
                          const Trial& trial) {
  const Plan& plan = setup.plan;
  const plan::Workload& workload = setup.workloadOf(point);
  const TrialKind kind = block.kind;
  const std::string address = parts.size() > 1 ? setup.nodes->all()[parts.front().node].address : "127.0.0.1";
  TrialRequest request = requestFor(setup, point, std::to_string(trial.id), kind, block.seed);
  request.nodes.clear();
  for (const NodePart& part : parts) request.nodes.push_back(part.node);
  protocol::TrialSpec& spec = request.spec;
  if (const KindDesign* design = plan::designOf(plan, kind)) spec.settings = design->settings;
  const std::string trace = traces.variable(kind, plan, point, trial.id);
  // Paths change only in the request; the trial's key keeps the plan's, so copies do not change what counts.
  spec.parameters = inputs::withCopies(point.parameters, setup.copies);
  // Derived metrics are computed from others later; the worker does not know them.
  for (const Metric& metric : plan.metrics)
    if (metric.kind == kind && !metric.derived) spec.metrics.push_back(metric.name);
  request.timeout_seconds = trial.limit;
  spec.log_limit = options.log_limit;
  if (workload.command) {
    const std::string folder = inputs::trialFolder(options.results, trial.id);
    completeForCommand(request, plan, point, parts, address, folder, commandVariables(setup), workload.command->ranks);
    // The command worker's own log stands beside the program's output.
    request.log_prefix = plan::outputsOf(folder) + "/expc";
    spec.prepared = preparedFolder(setup, point, options.results);
    spec.outputs = store::keptOutput(options.results, trial.id);
    // The limit is that of a node.
    spec.memory_limit = options.memory_limit * parts.size() / spec.world_size;
    if (!trace.empty())
      for (auto& variables : request.environment) variables.push_back(trace);
    return request;
  }
  spec.settings.erase("restart");  // it is about services, which only commands have
  request.log_prefix = fmt::format("{}/{}", logFolder(options.results), trial.id);
  // On several nodes each device has its own rank: spreadOverNodes() left out points of one process.
  placeRanks(request, parts, setup.workerOf(workload).description.isOneProcess(spec.workload, spec.parameters),
             address);
  // The limit is for the trial, and each rank is held to its share.
  spec.memory_limit = options.memory_limit / spec.world_size;
  for (auto& variables : request.environment) {
    if (!trace.empty()) variables.push_back(trace);
    // A checkpoint depends on the data that was read, so it is stored under the data's digest.
    if (!trial.key->data.empty()) variables.push_back("EXPC_DATA_DIGEST=" + trial.key->data);
  }
  return request;
}

TrialRequest serviceRequest(const Setup& setup, const EngineOptions& options, const NodePart& part,
                            const store::Block& block, const Point& point, const plan::Service& service,
                            const std::string& folder, std::map<std::string, std::string> values) {
  const Plan& plan = setup.plan;
  TrialRequest request = requestFor(setup, point, "service " + service.name, block.kind, block.seed);
  request.nodes = {part.node};
  protocol::TrialSpec& spec = request.spec;
  spec.command = service.command;
  spec.folder = folder;
  spec.values = std::move(values);
  spec.parameters = inputs::absoluteParameters(plan, inputs::withCopies(point.parameters, setup.copies));
  addProcess(request, part, part.own, commandVariables(setup));
  spec.prepared = preparedFolder(setup, point, options.results);
  spec.memory_limit = options.memory_limit;
  spec.log_limit = options.log_limit;
  request.log_prefix = plan::outputsOf(folder) + "/expc";
  request.timeout_seconds = INFINITY;
  return request;
}

std::string logFolder(const std::string& results) {
  std::string folder = results + "/logs";
  std::error_code ignored;  // opening the first log says what is wrong
  std::filesystem::create_directories(folder, ignored);
  return folder;
}

}  // namespace expc::engine
