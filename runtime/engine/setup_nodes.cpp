// Setup of a run on several nodes: starts their agents, checks that nodes and workers are alike, and makes the lanes.
//
// The first node is the model: slots, lanes and environment class come from it, and every other node must have the
// same. What is compared may then be measured on any of them.

#include <algorithm>
#include <tuple>

#include "runtime/base/failure.h"
#include "runtime/base/format.h"
#include "runtime/base/json.h"
#include "runtime/base/llvm.h"
#include "runtime/base/process.h"
#include "runtime/base/text.h"
#include "runtime/engine/nodes/agent.h"
#include "runtime/engine/setup.h"
#include "runtime/machine/slots.h"

namespace expc::engine {
namespace {

using json::Object;
using json::Value;

/// The first difference between two machines that a user can recognise, with both values; "" if none of these differ.
std::string difference(const Machine& one, const Machine& other) {
  const auto gpus = [](const Machine& machine) {
    return machine.gpus.empty() ? "none" : base::joined(base::textsOf(machine.gpus, &machine::Gpu::name));
  };
  const std::tuple<const char*, std::string, std::string> all[] = {
      {"processor", one.cpu_model, other.cpu_model},
      {"cores that may be used", fmt::to_string(one.allowed.size()), fmt::to_string(other.allowed.size())},
      {"GPUs", gpus(one), gpus(other)},
      {"driver", one.gpu_driver, other.gpu_driver}};
  for (const auto& [name, mine, theirs] : all)
    if (mine != theirs) return fmt::format("{}: {} and {}", name, mine, theirs);
  return "";
}

Error unlike(const nodes::Node& one, const nodes::Node& other, const std::string& how) {
  return failure(
      "nodes {} and {} differ ({}), but a comparison needs identical nodes: request them with a constraint or "
      "partition",
      one.name, other.name, how);
}

/// Error: some node has another build of the worker than this machine, or finds other libraries for it. `answers`: by
/// node, path -> description.
Error checkWorker(Setup& setup, WorkerProgram& worker, const std::vector<Value>& answers) {
  const std::vector<nodes::Node>& nodes = setup.nodes->all();
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Object* all = answers[i].getAsObject();
    const Object* own = all ? all->getObject(worker.path) : nullptr;
    if (!own) return failure("node {} does not describe {}", nodes[i].name, worker.path);
    if (own->getString("build").value_or("") != worker.description.build)
      return failure(
          "node {} has another build of {} than this machine: all nodes must "
          "see the same file",
          nodes[i].name, worker.path);
    const Value* libraries = own->get("libraries");
    const Value here = libraries ? *libraries : Value(nullptr);
    if (here != worker.description.libraries)
      return failure(
          "{} finds other libraries on node {} than here: start the run on one of the nodes, and use identical nodes",
          worker.path, nodes[i].name);
  }
  return Error::success();
}

/// Lets every node describe the run's workers, and compares the answers with this machine's.
Error checkWorkers(Setup& setup, ProgressListener& listener) {
  std::vector<WorkerProgram*> workers;
  json::Array paths;
  for (std::optional<WorkerProgram>* worker : {&setup.built_in, &setup.command}) {
    if (!*worker) continue;
    workers.push_back(&**worker);
    paths.push_back(jsonText((*worker)->path));
  }
  auto answers = TRY(setup.nodes->ask(
      "described", [&](const nodes::Node&) { return Object{{"describe", json::Array(paths)}}; },
      [&](const std::string& text) { listener.message(text); }));
  for (WorkerProgram* worker : workers) TRY(checkWorker(setup, *worker, answers));
  return Error::success();
}

/// The lanes of the first node (`first`) with the devices of another node. Error: the node has other devices, or its
/// environment class differs.
Expected<std::vector<LaneDevices>> lanesOn(const Setup& setup, unsigned node, const std::string& devices,
                                           const std::vector<LaneDevices>& first) {
  const std::vector<nodes::Node>& nodes = setup.nodes->all();
  const Machine& machine = nodes[node].machine;
  auto slots = TRY(machine::slots(machine, devices));
  if (slots.size() != setup.slots.size())
    return unlike(nodes.front(), nodes[node], fmt::format("devices: {} and {}", setup.slots.size(), slots.size()));
  std::vector<LaneDevices> lanes;
  for (const LaneDevices& like : first) {
    LaneDevices& lane = lanes.emplace_back();
    // The i-th slot here stands for the i-th slot of the first node.
    for (const machine::Slot& own : like.slots)
      for (size_t i = 0; i < slots.size(); ++i)
        if (setup.slots[i].index == own.index) lane.slots.push_back(slots[i]);
    lane.sets = machine::AlikeSets(machine, lane.slots);
    lane.node = node;
    // Libraries are left out: checkWorkers() has compared them.
    if (machine::environmentClass(machine, lane.slots, nullptr, first.size()) ==
        machine::environmentClass(setup.machine, like.slots, nullptr, first.size()))
      continue;
    const std::string how = difference(setup.machine, machine);
    return unlike(nodes.front(), nodes[node], how.empty() ? "their devices, and how these are connected" : how);
  }
  return lanes;
}

/// Whether one process drives all devices of the point, which confines it to one node. A command is one unless it has a
/// parameter `nodes`.
bool isOneProcess(const Setup& setup, const Point& point) {
  const plan::Workload& workload = setup.workloadOf(point);
  return workload.command ? plan::nodesOf(point) == 0
                          : setup.workerOf(workload).description.isOneProcess(workload.name, point.parameters);
}

/// "4 blocks run at once, 2 on each of the nodes n1, n2": for the user. `each`: nodes of one lane.
std::string spreadText(const Setup& setup, unsigned each) {
  const std::string names = base::joined(base::textsOf(setup.nodes->all(), &nodes::Node::name));
  const unsigned used = setup.lanes.size() / setup.lanes_per_node * each, all = setup.nodes->all().size();
  const std::string left =
      used < all ? fmt::format("; the last {} of them {} unused", all - used, base::are(all - used)) : "";
  const std::string where =
      each == 1 ? fmt::format("{} on each", setup.lanes_per_node) : fmt::format("each on {}", each);
  return fmt::format("{} block{} at once, {} of the nodes {}{}", setup.lanes.size(),
                     setup.lanes.size() == 1 ? " runs" : "s run", where, names, left);
}

}  // namespace

Error findNodes(Setup& setup, const Resources& resources, const std::string& results) {
  if (!resources.nodes) return Error::success();
  if (resources.null_gpus) return failure("--null-gpus works on a single node: run on one node, or leave it out");
  setup.nodes = TRY(nodes::Nodes::start(*resources.nodes, results));
  return Error::success();
}

std::vector<unsigned> LaneDevices::nodes() const {
  std::vector<unsigned> all{node};
  for (const LaneDevices& other : beyond) all.push_back(other.node);
  return all;
}

unsigned LaneDevices::nodesFor(const Point& point) const { return plan::nodesOf(point, slots.size()); }

Error spreadOverNodes(Setup& setup, const Resources& resources, ProgressListener& listener) {
  if (!setup.nodes) return Error::success();
  TRY(checkWorkers(setup, listener));
  // A lane has as many nodes as the point that needs most; smaller points use the first nodes of the lane.
  unsigned each = 1;  // nodes of a lane
  for (Point& point : setup.plan.points) {
    const unsigned wanted = setup.lane(0).nodesFor(point);
    if (!point.startable() || wanted == 1) continue;
    // A point that one process drives cannot span nodes, so it is left out here instead of failing in every trial.
    if (isOneProcess(setup, point))
      point.unavailable = setup.workloadOf(point).command
                              ? "no node has so many devices; with a parameter 'nodes' a command runs on several"
                              : "one process drives all its devices, and no node has so many";
    else
      each = std::max(each, wanted);
  }
  // Nodes are taken in groups of `each`. The first node of a group owns the lanes; the others extend them (`beyond`).
  // Nodes that do not fill a group are left over, which spreadText() says.
  const std::vector<LaneDevices> first = std::move(setup.lanes);
  setup.lanes_per_node = first.size();
  setup.lanes.clear();
  const unsigned count = setup.nodes->all().size();
  for (unsigned node = 0; node + each <= count; node += each)
    for (unsigned more = 0; more < each; ++more) {
      auto lanes = TRY(lanesOn(setup, node + more, resources.devices, first));
      if (more == 0) setup.lanes.insert(setup.lanes.end(), lanes.begin(), lanes.end());
      // Lane i of a further node extends lane i of the group's first node; these are the last lanes so far.
      for (size_t i = 0; more > 0 && i < lanes.size(); ++i)
        setup.lanes[setup.lanes.size() - lanes.size() + i].beyond.push_back(lanes[i]);
    }
  listener.message(spreadText(setup, each));
  return Error::success();
}

Error makeCopies(const Setup& setup, const inputs::Tick& tick, const launch::Say& say) {
  if (!setup.nodes) {
    for (const auto& [path, copy] : setup.copies) TRY(inputs::makeCopy(copy, tick));
    return Error::success();
  }
  nodes::CopyTask task;
  for (const auto& [path, copy] : setup.copies) task.copies.push_back(copy);
  const auto question = [&](const nodes::Node&) { return Object{{"copy", base::written(task)}}; };
  return setup.nodes->ask("copied", question, say, tick).takeError();
}

store::SessionPlace sessionPlace(const Setup& setup, unsigned lane, const launch::LauncherDescription& launcher) {
  const LaneDevices& own = setup.lane(lane);
  store::SessionPlace place;
  if ((setup.nodes ? setup.lanes_per_node : launcher.lanes) > 1) place.lane = fmt::format("{}:{}", launcher.name, lane);
  if (!setup.nodes) {
    place.nodes = {setup.machineOf(own).host};
    place.boots = {setup.machineOf(own).boot_id};
    return place;
  }
  // The engine's boot comes first: gaps between trials are measured by its clock, which begins anew with each boot.
  place.boots.push_back(base::bootId());
  for (const unsigned node : own.nodes()) {
    place.nodes.push_back(setup.nodes->all()[node].name);
    place.boots.push_back(setup.nodes->all()[node].machine.boot_id);
  }
  return place;
}

}  // namespace expc::engine
