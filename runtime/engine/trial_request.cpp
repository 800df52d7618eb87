#include "runtime/engine/trial_request.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "runtime/engine/placement.h"
#include "runtime/engine/trial_folders.h"
#include "runtime/plan/command.h"
#include "runtime/plan/devices.h"
#include "runtime/plan/find.h"
#include "runtime/store/files.h"

namespace expc::engine {

std::vector<unsigned> slotsOf(const LaneDevices& lane, const store::Block& block, const plan::Point& point) {
  return lane.sets.of(plan::devicesOf(point) / lane.nodesFor(point), block.number);
}

std::vector<const LaneDevices*> partsOf(const LaneDevices& lane, const plan::Point& point) {
  std::vector<const LaneDevices*> parts{&lane};
  for (const LaneDevices& other : lane.beyond)
    if (parts.size() < lane.nodesFor(point)) parts.push_back(&other);
  return parts;
}

namespace {

std::vector<NodePart> placesOf(const Setup& setup, const LaneDevices& lane, const store::Block& block,
                               const plan::Point& point) {
  const std::vector<const LaneDevices*> parts = partsOf(lane, point);
  std::vector<NodePart> places;
  for (const LaneDevices* part : parts)
    places.push_back({setup.machineOf(*part), part->slots, slotsOf(*part, block, point),
                      parts.size() > 1 ? setup.nodes->all()[part->node].interface : ""});
  return places;
}

}  // namespace

TrialRequest requestFor(const Setup& setup, const plan::Point& point, std::string trial, plan::TrialKind kind,
                        uint64_t seed) {
  const plan::Workload& workload = setup.workloadOf(point);
  TrialRequest request;
  plan::TrialSpec& spec = request.spec;
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
                          const LaneDevices& lane, const store::Block& block, const plan::Point& point,
                          const store::Trial& trial) {
  const plan::Plan& plan = setup.plan;
  const plan::Workload& workload = setup.workloadOf(point);
  const plan::TrialKind kind = block.kind;
  const std::vector<NodePart> places = placesOf(setup, lane, block, point);
  const std::string address = places.size() > 1 ? setup.nodes->all()[lane.node].address : "127.0.0.1";
  TrialRequest request = requestFor(setup, point, std::to_string(trial.id), kind, block.seed);
  request.nodes.clear();
  for (const LaneDevices* part : partsOf(lane, point)) request.nodes.push_back(part->node);
  plan::TrialSpec& spec = request.spec;
  if (const plan::KindDesign* design = plan::designOf(plan, kind)) spec.settings = design->settings;
  spec.parameters = withCopies(point.parameters, setup.copies);
  for (const plan::Metric& metric : plan.metrics)
    if (metric.kind == kind && !metric.derived) spec.metrics.push_back(metric.name);
  request.timeout_seconds = trial.limit;
  spec.log_limit = options.log_limit;
  if (workload.command) {
    const std::string folder = trialFolder(options.results, trial.id);
    completeForCommand(request, plan, point, places, address, folder, commandVariables(setup));
    request.log_prefix = plan::outputsOf(folder) + "/expc";
    spec.prepared = preparedFolder(setup, point, options.results);
    spec.outputs = store::keptOutput(options.results, trial.id);
    spec.memory_limit = options.memory_limit;
    return request;
  }
  request.log_prefix = fmt::format("{}/{}", logFolder(options.results), trial.id);
  // Of a point on several nodes each device has a rank (spreadOverNodes).
  placeRanks(request, places, setup.workerOf(workload).description.isOneProcess(spec.workload, spec.parameters),
             address);
  spec.memory_limit = options.memory_limit / spec.world_size;
  const std::string trace = traces.variable(kind, plan, point, trial.id);
  for (auto& variables : request.environment) {
    if (!trace.empty()) variables.push_back(trace);
    // A checkpoint is of what was read, too.
    if (!trial.key->data.empty()) variables.push_back("EXPC_DATA_DIGEST=" + trial.key->data);
  }
  return request;
}

std::string logFolder(const std::string& results) {
  std::string folder = results + "/logs";
  std::error_code ignored;  // opening the first log says what is wrong
  std::filesystem::create_directories(folder, ignored);
  return folder;
}

}  // namespace expc::engine
