#include "runtime/plan/trial.h"

#include <fmt/format.h>

#include "runtime/plan/described.h"
#include "runtime/plan/plan_words.h"

namespace expc::plan {
namespace {

using llvm::json::Value;

constexpr llvm::StringLiteral kReplies[] = {"ready", "started", "exited"};
constexpr unsigned kMaxRanks = 65536;

void describeSlots(JsonRecord& io, TrialSpec& spec) {
  if (!io.reads()) {
    io.out()["slots"] = llvm::json::Array(spec.slots);
    return;
  }
  io.each("slots", [&](const Value& slot, const JsonPath& at) {
    if (!slot.getAsObject()) io.failAt(at, "expected an object");
    spec.slots.push_back(slot);
  });
  const bool one_process = spec.world_size == 1 && !spec.slots.empty();  // it may drive several devices
  if (spec.slots.size() != spec.world_size && !one_process)
    io.fail("slots", fmt::format("{} slots for {} ranks", spec.slots.size(), spec.world_size));
}

}  // namespace

void describeVersion(JsonRecord& io) {
  uint64_t version = kTrialVersion;
  io.field("v", version);
  if (!io.failed() && version != kTrialVersion)
    io.fail("v", fmt::format("this program reads version {}, found {}; are expc and expc-worker of one build?",
                             kTrialVersion, version));
}

void describe(JsonRecord& io, TrialSpec& spec) {
  describeVersion(io);
  io.field("trial", spec.trial);
  io.field("point", spec.point);
  io.field("workload", spec.workload);
  io.field("workload_version", spec.workload_version);
  io.optionalObject("command", spec.command, kDescribed);
  if (spec.command) {
    io.field("folder", spec.folder);
    io.optional("prepared", spec.prepared);
    io.optional("outputs", spec.outputs);
    if (io.reads() && !spec.folder.starts_with('/')) io.fail("folder", "an absolute path is needed");
  }
  io.word("kind", spec.kind, words::kKind);
  io.field("settings", spec.settings);
  io.field("parameters", spec.parameters);
  io.field("root", spec.root);
  io.field("seed", spec.seed);
  io.field("metrics", spec.metrics);
  io.field("world_size", spec.world_size, 1, kMaxRanks);
  describeSlots(io, spec);
  io.optional("memory_limit", spec.memory_limit);
  io.optional("log_limit", spec.log_limit, kLogLimit);
  io.optional("rehearsal", spec.rehearsal);
}

void describe(JsonRecord& io, LaunchRequest& request) {
  describeVersion(io);
  io.field("launch", request.id);
  io.field("rank", request.rank, 0, kMaxRanks - 1);
  io.field("environment", request.environment);
  io.object("spec", request.spec, kDescribed);
  if (!io.reads()) return;
  for (const std::string& variable : request.environment)
    if (variable.find('=') == std::string::npos || variable.front() == '=')
      io.fail("environment", fmt::format("'{}' is not NAME=value", variable));
  if (request.rank >= request.spec.world_size)
    io.fail("rank", fmt::format("rank {} of {}", request.rank, request.spec.world_size));
}

void describe(JsonRecord& io, LaunchReply& reply) {
  describeVersion(io);
  io.word("reply", reply.type, kReplies);
  if (reply.type == LaunchReply::Type::Ready) return;
  io.field("launch", reply.id);
  io.field("pid", reply.pid);
  if (reply.type != LaunchReply::Type::Exited) return;
  io.field("status", reply.status);
  io.optional("at", reply.at);
  io.optional("out_of_memory", reply.out_of_memory);
  io.optional("stuck", reply.stuck);
}

std::string logLimitText(uint64_t bytes) {
  return fmt::format("{:.4g} MB (--log-limit)", static_cast<double>(bytes) / 1e6);
}

}  // namespace expc::plan
