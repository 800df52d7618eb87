#include "runtime/engine/agent_messages.h"

#include "runtime/plan/described.h"

namespace expc::engine {

using plan::JsonRecord;

namespace {

constexpr llvm::StringLiteral kWhats[] = {"started", "said", "nonsense", "exited", "readings", "lost"};
constexpr unsigned kMostRanks = 1 << 16;

}  // namespace

void describe(JsonRecord& io, Introduction& node) {
  io.field("name", node.name);
  io.field("address", node.address);
  io.field("interface", node.interface);
  io.object("machine", node.machine, plan::kDescribed);
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
  if (io.reads() && report.what == RankReport::What::Readings && !io.has("readings", true))
    return io.fail("readings", "are missing");
  io.optionalObject("readings", report.readings, plan::kDescribed);
}

}  // namespace expc::engine
