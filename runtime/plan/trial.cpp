#include "runtime/plan/trial.h"

#include <fmt/format.h>

#include "runtime/plan/command_json.h"
#include "runtime/plan/json.h"
#include "runtime/plan/plan_words.h"

namespace expc::plan {
namespace {

using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;

constexpr llvm::StringLiteral kReplies[] = {"ready", "started", "exited"};
constexpr unsigned kMaxRanks = 65536;

void checkVersion(const JsonErrors& errors, JsonFields& in) {
  const uint64_t version = in.whole("v");
  if (!errors.any() && version != kTrialVersion)
    in.fail("v", fmt::format("this program reads version {}, found {}; are expc and expc-worker of one build?",
                             kTrialVersion, version));
}

TrialSpec readSpec(JsonErrors& errors, const Value& value, const JsonPath& at) {
  JsonFields in(errors, value, at);
  TrialSpec spec;
  checkVersion(errors, in);
  spec.trial = in.string("trial");
  spec.point = in.string("point");
  spec.workload = in.string("workload");
  spec.workload_version = static_cast<int>(in.small("workload_version", 0, INT32_MAX));
  if (in.has("command")) {
    spec.command = readCommand(errors, *in.value("command"), JsonPath{&at, "command", std::nullopt});
    spec.folder = in.string("folder");
    if (spec.folder.empty() || spec.folder.front() != '/') in.fail("folder", "an absolute path is needed");
    if (in.has("prepared")) spec.prepared = in.string("prepared");
    if (in.has("outputs")) spec.outputs = in.string("outputs");
  }
  spec.kind = in.word<TrialKind>("kind", words::kKind);
  spec.settings = in.object("settings");
  spec.parameters = in.object("parameters");
  spec.root = in.string("root");
  spec.seed = in.whole("seed");
  spec.metrics = in.strings("metrics");
  spec.world_size = in.small("world_size", 1, kMaxRanks);
  in.each("slots", [&](const Value& slot, const JsonPath& slot_at) {
    if (!slot.getAsObject()) errors.add(slot_at, "expected an object");
    spec.slots.push_back(slot);
  });
  const bool one_process = spec.world_size == 1 && !spec.slots.empty();  // it may drive several devices
  if (spec.slots.size() != spec.world_size && !one_process)
    in.fail("slots", fmt::format("{} slots for {} ranks", spec.slots.size(), spec.world_size));
  if (in.has("memory_limit")) spec.memory_limit = in.whole("memory_limit");
  if (in.has("log_limit")) spec.log_limit = in.whole("log_limit");
  if (in.has("rehearsal")) spec.rehearsal = in.boolean("rehearsal");
  in.refuseOthers();
  return spec;
}

}  // namespace

std::string logLimitText(uint64_t bytes) {
  return fmt::format("{:.4g} MB (--log-limit)", static_cast<double>(bytes) / 1e6);
}

Value toJson(const TrialSpec& spec) {
  Object object{{"v", kTrialVersion},
                {"trial", jsonText(spec.trial)},
                {"point", jsonText(spec.point)},
                {"workload", jsonText(spec.workload)},
                {"workload_version", spec.workload_version},
                {"kind", words::name(words::kKind, spec.kind)},
                {"settings", Object(spec.settings)},
                {"parameters", Object(spec.parameters)},
                {"root", jsonText(spec.root)},
                {"seed", spec.seed},
                {"metrics", jsonTexts(spec.metrics)},
                {"world_size", spec.world_size},
                {"slots", Array(spec.slots)}};
  if (spec.command) {
    object["command"] = toJson(*spec.command);
    object["folder"] = jsonText(spec.folder);
    if (!spec.prepared.empty()) object["prepared"] = jsonText(spec.prepared);
    if (!spec.outputs.empty()) object["outputs"] = jsonText(spec.outputs);
  }
  if (spec.memory_limit > 0) object["memory_limit"] = spec.memory_limit;
  if (spec.log_limit != kLogLimit) object["log_limit"] = spec.log_limit;
  if (spec.rehearsal) object["rehearsal"] = true;
  return object;
}

llvm::Expected<TrialSpec> trialSpecFromJson(const Value& value) {
  JsonErrors errors;
  const JsonPath root;
  TrialSpec spec = readSpec(errors, value, root);
  if (errors.any()) return errors.take("the trial's specification");
  return spec;
}

Value toJson(const LaunchRequest& request) {
  return Object{{"v", kTrialVersion},
                {"launch", request.id},
                {"rank", request.rank},
                {"environment", jsonTexts(request.environment)},
                {"spec", toJson(request.spec)}};
}

llvm::Expected<LaunchRequest> launchRequestFromJson(const Value& value) {
  JsonErrors errors;
  const JsonPath root;
  JsonFields in(errors, value, root);
  LaunchRequest request;
  checkVersion(errors, in);
  request.id = in.whole("launch");
  request.rank = in.small("rank", 0, kMaxRanks - 1);
  request.environment = in.strings("environment");
  for (const std::string& variable : request.environment)
    if (variable.find('=') == std::string::npos || variable.front() == '=')
      in.fail("environment", fmt::format("'{}' is not NAME=value", variable));
  if (const Value* spec = in.value("spec"))
    request.spec = readSpec(errors, *spec, JsonPath{&root, "spec", std::nullopt});
  else
    in.fail("spec", "missing, expected an object");
  if (request.rank >= request.spec.world_size)
    in.fail("rank", fmt::format("rank {} of {}", request.rank, request.spec.world_size));
  in.refuseOthers();
  if (errors.any()) return errors.take("the launch request");
  return request;
}

Value toJson(const LaunchReply& reply) {
  Object object{{"v", kTrialVersion}, {"reply", words::name(kReplies, reply.type)}};
  if (reply.type != LaunchReply::Type::Ready) {
    object["launch"] = reply.id;
    object["pid"] = reply.pid;
  }
  if (reply.type == LaunchReply::Type::Exited) {
    object["status"] = reply.status;
    object["at"] = reply.at;
    if (!reply.out_of_memory.empty()) object["out_of_memory"] = jsonText(reply.out_of_memory);
    if (!reply.stuck.empty()) object["stuck"] = Array(reply.stuck);
  }
  return object;
}

llvm::Expected<LaunchReply> launchReplyFromJson(const Value& value) {
  JsonErrors errors;
  const JsonPath root;
  JsonFields in(errors, value, root);
  LaunchReply reply;
  checkVersion(errors, in);
  reply.type = in.word<LaunchReply::Type>("reply", kReplies);
  if (reply.type != LaunchReply::Type::Ready) {
    reply.id = in.whole("launch");
    reply.pid = static_cast<int>(in.small("pid", 0, INT32_MAX));
  }
  if (reply.type == LaunchReply::Type::Exited) {
    reply.status = static_cast<int>(in.small("status", 0, INT32_MAX));
    if (in.has("at")) reply.at = in.number("at");
    if (in.has("out_of_memory")) reply.out_of_memory = in.string("out_of_memory");
    if (in.has("stuck"))
      in.each("stuck", [&](const Value& item, const JsonPath& at) {
        const auto pid = item.getAsInteger();
        if (pid && *pid > 0 && *pid <= INT32_MAX)
          reply.stuck.push_back(static_cast<int>(*pid));
        else
          errors.add(at, "is no process");
      });
  }
  in.refuseOthers();
  if (errors.any()) return errors.take("the launch reply");
  return reply;
}

}  // namespace expc::plan
