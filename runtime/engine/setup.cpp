// Setup on one machine: slots and lanes, worker programs with their environment classes, and the environment variables
// of commands. setup_nodes.cpp extends lanes to several nodes.

#include "runtime/engine/setup.h"

#include <llvm/Support/JSON.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>

#include "runtime/base/entry.h"
#include "runtime/base/failure.h"
#include "runtime/base/format.h"
#include "runtime/base/hash.h"
#include "runtime/base/json.h"
#include "runtime/base/llvm.h"
#include "runtime/base/process.h"
#include "runtime/base/text.h"
#include "runtime/engine/numa.h"
#include "runtime/machine/gpus.h"
#include "runtime/machine/leases.h"
#include "runtime/machine/probe.h"
#include "runtime/machine/slots.h"
#include "runtime/plan/command.h"

extern char** environ;

namespace expc::engine {
namespace {

/// Error: the worker does not have the workload in the plan's version. The message lists what it has.
Error checkWorkload(const plan::Workload& workload, const launch::WorkerDescription& worker, const std::string& path) {
  if (valueIn(worker.workloads, workload.name) == workload.version) return Error::success();
  std::string offered;
  for (const auto& [name, version] : worker.workloads)
    offered += fmt::format("{}{} version {}", offered.empty() ? "" : ", ", name, version);
  return failure(
      "{} version {} is not in this build of {} ('{}'; it has {}): build worker and expc from one "
      "tree, or name the right worker with --worker PATH",
      workload.name, workload.version, std::filesystem::path(path).filename().string(), path,
      offered.empty() ? "none" : offered);
}

/// A driver runs CUDA of its own major version and older (NVIDIA's minor version compatibility). Versions are 1000 *
/// major + 10 * minor, as cuDriverGetVersion counts them.
Error checkDriver(const Machine& machine, const WorkerProgram& worker) {
  const json::Object* libraries = worker.description.libraries.getAsObject();
  const int64_t built_for = libraries ? libraries->getInteger("cuda").value_or(0) : 0;
  if (machine.cuda_driver == 0 || machine.cuda_driver / 1000 >= built_for / 1000) return Error::success();
  const auto text = [](int64_t version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); };
  return failure(
      "the NVIDIA driver {} is too old: it runs CUDA up to {}, '{}' was built for {}. Update the driver, or measure on "
      "the CPU with --devices cpu:N",
      machine.gpu_driver, text(machine.cuda_driver), worker.path, text(built_for));
}

/// Whether the point asks for cores of another socket (numa = far) and some slot has none.
bool isTooFar(const Setup& setup, const Point& point) {
  return placementOf(point.parameters) == machine::Placement::Far &&
         std::ranges::any_of(setup.slots, [&](const machine::Slot& slot) {
           return !machine::placed(setup.machine, slot, machine::Placement::Far);
         });
}

/// Asks a worker to describe itself, and derives the environment class of its trials from machine, slots, libraries and
/// number of lanes.
Expected<WorkerProgram> describe(const Setup& setup, const std::string& path) {
  WorkerProgram program;
  program.path = path;
  program.description = TRY(launch::describeWorker(path, setup.environment));
  const bool null_cards = setup.null_machine != nullptr;
  program.environment_class = (null_cards ? std::string(store::kNullClass) : "") +
                              machine::environmentClass(setup.machine, setup.lanes.front().slots,
                                                        program.description.libraries, setup.lanes.size());
  if (setup.slots.front().gpu) {
    TRY(checkDriver(setup.machine, program));
  }
  return program;
}

/// The metrics that the plan asks for and the command says how to read.
std::vector<std::string> metricsRead(const Plan& plan, const plan::Workload& workload) {
  std::vector<std::string> names;
  for (const plan::CommandMetric& metric : workload.command->metrics)
    if (plan.findMetric(metric.name)) names.push_back(metric.name);
  return names;
}

std::string isOrAre(unsigned count) { return fmt::format("{} {}", base::are(count), count); }

/// Which devices or nodes the point needs and this run lacks; "" if it lacks nothing.
std::string lackOf(const Setup& setup, const Point& point) {
  const unsigned have = setup.nodes ? setup.nodes->all().size() : 1, each = setup.slots.size();
  const unsigned devices = plan::devicesOf(point), nodes = plan::nodesOf(point, each);
  if (plan::nodesOf(point) > have) return fmt::format("needs {} nodes, there {}", nodes, isOrAre(have));
  // The devices must divide evenly among the nodes, since each node of a trial has equally many ranks.
  if (nodes <= have && devices % nodes == 0 && devices / nodes <= each) return "";
  if (plan::nodesOf(point) > 1 && devices % nodes != 0)
    return fmt::format("needs {} devices on {} nodes, which are not as many on each", devices, nodes);
  return fmt::format("needs {} devices, there {}{}", devices, isOrAre(each),
                     have > 1 ? fmt::format(" on each of {} nodes", have) : "");
}

/// Disjoint sets that are alike, one for each of `lanes` lanes, as large as possible but at least `least` devices;
/// empty if there are not so many.
std::vector<machine::AlikeSets::Set> divided(const machine::AlikeSets& sets, unsigned slots, unsigned lanes,
                                             unsigned least) {
  for (unsigned each = slots / lanes; each >= least; --each)
    if (auto found = sets.disjoint(each, lanes); found.size() == lanes) return found;
  return {};
}

/// Variables that commands get and that must agree for trials to be compared: they decide which programs and libraries
/// are found, and how text is read and written.
constexpr StringRef kAgree[] = {"PATH",       "LD_LIBRARY_PATH", "LANG",        "LANGUAGE",     "TZ",
                                "PYTHONPATH", "PYTHONHOME",      "VIRTUAL_ENV", "CONDA_PREFIX", "CUDA_HOME"};
/// Variables that commands get and that need not agree: user names and temporary folders differ from job to job.
constexpr StringRef kPassed[] = {"HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "XDG_RUNTIME_DIR"};

/// Variables that expc sets for each trial; passing them would have no effect, so --pass-env refuses them.
constexpr StringRef kSet[] = {"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "OMP_NUM_THREADS",   "TMPDIR",
                              "EXPC_OUT_OF_MEMORY",   "EXPC_TRIAL",        "EXPC_TRIAL_FOLDER", "EXPC_STUDY_FOLDER",
                              "EXPC_PREPARED",        "EXPC_SEED"};

/// LC_* are the locale's categories (POSIX).
bool mustAgree(StringRef name) { return is_contained(kAgree, name) || name.starts_with("LC_"); }

}  // namespace

Error checkHost(const std::vector<std::string>& folders) {
  if (!base::processOf(getpid()).runs())
    return failure("/proc is not mounted, but expc needs it to watch trials: mount -t proc proc /proc");
  for (const std::string& path : folders)
    if (!json::isUTF8(path))
      return failure("the path '{}' is not UTF-8, so it cannot be passed to trials: rename that folder", path);
  return Error::success();
}

std::vector<std::string> ownVariables() {
  std::vector<std::string> all;
  for (char** variable = environ; *variable; ++variable) all.emplace_back(*variable);
  return all;
}

Expected<CommandEnvironment> commandEnvironment(const std::vector<std::string>& all,
                                                const std::vector<std::string>& passed) {
  std::map<std::string, std::string> set;
  // The first of two equal names wins, as with getenv.
  for (const std::string& variable : all) {
    const auto [name, value] = StringRef(variable).split('=');
    set.try_emplace(name.str(), value.str());
  }
  for (const std::string& name : passed) {
    if (name.find('=') != std::string::npos)
      return failure("--pass-env takes a name alone, not '{}': set the variable before `expc`", name);
    if (is_contained(kSet, name))
      return failure(
          "--pass-env {}: expc sets this variable for each trial. To use another value, set it in the command: command "
          "[\"env\", \"{}=${{value}}\", …]",
          name, name);
    if (!set.count(name))
      return failure("--pass-env {}: that variable is not set here; set it, or leave the option out", name);
  }
  CommandEnvironment environment;
  json::Object agreed;
  for (const auto& [name, value] : set) {
    // A variable that was asked for by name is one that the result may depend on.
    const bool named = is_contained(passed, name), agrees = named || mustAgree(name);
    if (!agrees && !is_contained(kPassed, name)) {
      if (!is_contained(kSet, name)) environment.withheld.push_back(name);
      continue;
    }
    if (!json::isUTF8(value))
      return failure("the variable {} is not UTF-8, so it cannot be passed to trials: change it, or unset it", name);
    environment.variables.push_back(name + "=" + value);
    if (!agrees) continue;
    // The digest suffices to tell environments apart, and reveals no value in the environment class.
    const std::string digest = base::shortHash(value);
    agreed[name] = digest;
    environment.recorded[name] = named ? "digest " + digest : jsonText(value);
  }
  environment.digest = base::shortHash(canonicalJson(std::move(agreed)));
  return environment;
}

std::vector<std::string> commandVariables(const Setup& setup) {
  std::vector<std::string> variables = setup.command_environment.variables;
  base::addPythonPackage(variables);
  variables.insert(variables.end(), setup.environment.begin(), setup.environment.end());
  return variables;
}

Error findSlots(Setup& setup, const Resources& resources, ProgressListener& listener) {
  setup.machine = setup.nodes ? setup.nodes->all().front().machine : machine::probe(resources.null_gpus);
  for (const std::string& note : setup.machine.notes) listener.message(note);
  // `--devices N` takes the first N GPUs, so those that other runs hold come last.
  machine::putFreeFirst(setup.machine.gpus, resources.device_locks);
  setup.slots = TRY(machine::slots(setup.machine, resources.devices));
  // One lane with all slots, until shareDevices() divides them.
  setup.lanes = {{setup.slots, machine::AlikeSets(setup.machine, setup.slots), 0, {}}};
  // Null cards exist only in processes with the null libraries, which share their state through this folder.
  if (!setup.slots.front().null) return Error::success();
  setup.null_machine = std::make_unique<files::TemporaryFolder>();
  if (setup.null_machine->path().empty())
    return failure("no folder for the simulated GPUs: {}; set TMPDIR to a folder for temporary files",
                   std::strerror(errno));
  setup.environment = machine::nullEnvironment(setup.machine, setup.null_machine->path() + "/machine");
  return Error::success();
}

void markUnavailable(Setup& setup, bool places) {
  for (Point& point : setup.plan.points) {
    if (!point.unavailable.empty()) continue;
    if (std::string lack = lackOf(setup, point); !lack.empty()) {
      point.unavailable = std::move(lack);
    } else if (places && !setup.workloadOf(point).command && isTooFar(setup, point)) {
      point.unavailable = "numa far needs a second socket; this machine has one, or its sockets are unknown";
    }
  }
}

void shareDevices(Setup& setup, ProgressListener& listener) {
  const unsigned asked = setup.plan.design.share, slots = setup.slots.size();
  if (asked <= 1) return;
  // Each lane must be able to run every point that can be started.
  unsigned least = 1;
  for (const Point& point : setup.plan.points)
    if (point.startable()) least = std::max(least, plan::devicesOf(point) / plan::nodesOf(point, slots));
  const machine::AlikeSets all = setup.lanes.front().sets;
  std::vector<machine::AlikeSets::Set> sets;
  // First as many lanes as possible, then as many devices in each as possible.
  for (unsigned lanes = std::min(asked, slots / least); lanes > 1 && sets.empty(); --lanes)
    sets = divided(all, slots, lanes, least);
  const std::string fewer =
      fmt::format(" (share {} was requested, but a point needs up to {} of the {} devices)", asked, least, slots);
  if (sets.empty()) return listener.say("blocks run one at a time{}", fewer);
  setup.lanes.clear();
  std::string shown;
  for (const machine::AlikeSets::Set& set : sets) {
    LaneDevices lane;
    for (const unsigned slot : set) lane.slots.push_back(setup.slots[slot]);
    lane.sets = machine::AlikeSets(setup.machine, lane.slots);
    shown += shown.empty() ? "" : ", ";
    for (const machine::Slot& slot : lane.slots)
      shown += fmt::format("{}{}", &slot == &lane.slots.front() ? "" : "+", slot.index);
    setup.lanes.push_back(std::move(lane));
  }
  listener.say("{} blocks run in parallel, on devices {}{}", sets.size(), shown, sets.size() < asked ? fewer : "");
}

Error findWorker(Setup& setup, const Resources& resources, const plan::Workload& workload) {
  std::optional<WorkerProgram>& worker = workload.command ? setup.command : setup.built_in;
  if (!worker) {
    const bool cuda = setup.slots.front().gpu && !resources.cuda_worker.empty();
    // The worker for commands is installed beside the other one.
    std::string path = workload.command ? resources.command_worker : cuda ? resources.cuda_worker : resources.worker;
    if (path.empty()) path = (std::filesystem::path(resources.worker).parent_path() / "expc-worker-command").string();
    auto found = TRY(describe(setup, path));
    if (workload.command) found.environment_class += "+env." + setup.command_environment.digest;
    // A configuration that fits under one memory limit need not fit under another, so the limit is part of the class.
    if (resources.memory_limit > 0) found.environment_class += fmt::format("+memory.{}", resources.memory_limit);
    // A scratch disk has another speed than the shared file system, so times are not comparable.
    if (!resources.scratch.empty() && !setup.plan.data_paths.empty()) found.environment_class += "+scratch";
    worker = std::move(found);
  }
  // The plan itself defines a command, so only its patterns are checked. A built-in workload must be in the worker.
  if (!workload.command) return checkWorkload(workload, worker->description, worker->path);
  plan::Workload read = workload;
  const auto runs = [&](const Point& point) { return &setup.workloadOf(point) == &workload; };
  if (const auto point = std::ranges::find_if(setup.plan.points, runs); point != setup.plan.points.end())
    read.command = plan::readAt(*workload.command, point->parameters);
  return launch::checkCommand(worker->path, read, metricsRead(setup.plan, workload));
}

}  // namespace expc::engine
