#include "runtime/engine/agent_messages.h"

#include "runtime/plan/described.h"

namespace expc::engine {

using llvm::json::Object;
using plan::JsonRecord;

namespace {

constexpr llvm::StringLiteral kWhats[] = {"started", "said", "nonsense", "exited", "readings", "lost"};
constexpr llvm::StringLiteral kWays[] = {"unknown", "switch", "switches", "bridge", "node", "system"};
constexpr unsigned kMostRanks = 1 << 16;

/// Numbers of cores.
void describeCores(JsonRecord& io, JsonRecord::Key key, std::vector<int>& cores) {
  std::vector<unsigned> numbers(cores.begin(), cores.end());
  io.field(key, numbers);
  cores.assign(numbers.begin(), numbers.end());
}

void describeWay(JsonRecord& io, std::pair<unsigned, machine::Way>& way) {
  io.field("to", way.first);
  io.word("over", way.second.over, kWays);
  io.field("nvlinks", way.second.nvlinks);
}

void describeGpu(JsonRecord& io, machine::Gpu& gpu) {
  io.field("index", gpu.index);
  io.field("name", gpu.name);
  io.field("uuid", gpu.uuid);
  io.field("memory", gpu.memory_bytes);
  io.field("pci_bus", gpu.pci_bus);
  describeCores(io, "cores", gpu.cores);
  io.optional("memory_node", gpu.memory_node, -1);
  std::vector<std::pair<unsigned, machine::Way>> ways(gpu.ways.begin(), gpu.ways.end());
  io.list("ways", ways, describeWay);
  gpu.ways = {ways.begin(), ways.end()};
}

/// With all that slots and places are made of. Null cards are never on their way.
void describeMachine(JsonRecord& io, machine::Machine& machine) {
  io.field("host", machine.host);
  io.field("boot_id", machine.boot_id);
  io.field("kernel", machine.kernel);
  io.field("os", machine.os);
  io.field("cpu_model", machine.cpu_model);
  io.field("sockets", machine.sockets);
  io.field("cores", machine.cores);
  io.field("threads", machine.threads);
  describeCores(io, "allowed", machine.allowed);
  io.list("packages", machine.packages,
          [](JsonRecord& one, machine::Package& package) { describeCores(one, "cores", package.cores); });
  io.list("nodes", machine.nodes, [](JsonRecord& one, machine::NumaNode& node) {
    one.field("index", node.index);
    describeCores(one, "cores", node.cores);
  });
  io.field("cpu_quota", machine.cpu_quota);
  io.field("memory", machine.memory_bytes);
  io.field("governor", machine.governor);
  io.field("gpu_driver", machine.gpu_driver);
  io.field("cuda_driver", machine.cuda_driver);
  io.field("nvml_library", machine.nvml_library);
  io.list("gpus", machine.gpus, describeGpu);
  io.field("notes", machine.notes);
}

}  // namespace

void describe(JsonRecord& io, Introduction& node) {
  io.field("name", node.name);
  io.field("address", node.address);
  io.field("interface", node.interface);
  io.object("machine", node.machine, describeMachine);
}

void describe(JsonRecord& io, CopyTask& task) {
  io.list("copies", task.copies, [](JsonRecord& one, ScratchCopy& copy) {
    one.field("from", copy.from);
    one.field("to", copy.to);
    one.field("digest", copy.digest);
  });
}

void describe(JsonRecord& io, AgentTask& task) {
  io.field("built_in", task.workers.built_in);
  io.field("command", task.workers.command);
  io.field("environment", task.workers.environment);
  io.field("log", task.workers.log);
  io.field("nvml", task.workers.nvml);
  io.field("lanes", task.lanes, 1, kMostRanks);
  io.field("devices", task.devices);
  io.field("locks", task.locks);
  io.field("owner", task.owner);
}

void describe(JsonRecord& io, TrialRequest& request) {
  io.object("spec", request.spec, plan::kDescribed);
  io.field("environment", request.environment);
  io.field("log_prefix", request.log_prefix);
  io.field("first_rank", request.first_rank, 0, kMostRanks);
  io.field("ranks", request.ranks, 0, kMostRanks);
  if (io.reads() && !io.failed() &&
      (request.environment.size() != request.spec.world_size || request.first_rank > request.spec.world_size ||
       request.endRank() > request.spec.world_size))
    io.fail("its ranks do not agree with each other");
}

void describe(JsonRecord& io, RankReport& report) {
  io.word("what", report.what, kWhats);
  io.field("trial", report.trial);
  io.field("rank", report.rank, 0, kMostRanks);
  io.field("pid", report.pid);
  io.field("at", report.at);
  io.optional("text", report.text);
  io.optional("status", report.status);
  io.optional("out_of_memory", report.out_of_memory);
  io.optional("stuck", report.stuck);
  if (report.what == RankReport::What::Said) {
    std::string line = io.reads() ? "" : plan::toLine(report.event);
    io.field("event", line);
    if (!io.reads() || io.failed()) return;
    if (auto event = plan::eventFromLine(line))
      report.event = std::move(*event);
    else
      io.fail("event", llvm::toString(event.takeError()));
    return;
  }
  if (!io.has("readings", report.readings != nullptr)) {
    if (io.reads() && report.what == RankReport::What::Readings) io.fail("readings", "are missing");
    return;
  }
  Object readings = io.reads() ? Object() : validity::toJson(*report.readings);
  io.field("readings", readings);
  if (io.reads()) report.readings = std::make_shared<const validity::Readings>(validity::readingsFromJson(readings));
}

}  // namespace expc::engine
