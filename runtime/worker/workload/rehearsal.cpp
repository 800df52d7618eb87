// A timed trial on null cards whose steps are counted instead of timed.

#include <dlfcn.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/FormatVariadic.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <thread>
#include <utility>

#include "nullgpu/core/counters_api.h"
#include "runtime/plan/json_record.h"
#include "runtime/worker/device/host.h"
#include "runtime/worker/profile/breakdown.h"
#include "runtime/worker/profile/launching_threads.h"
#include "runtime/worker/profile/operator_work.h"
#include "runtime/worker/workload/training.h"

namespace expc::workload {
namespace {

using plan::RehearsedRank, plan::Traffic;

/// Enough for a step of many ranks.
constexpr int64_t kMadeUp = 4096;
/// torch's thread that looks after collectives comes round ten times a second.
constexpr auto kCollectivesSeen = std::chrono::milliseconds(300);

/// What this process did on null cards so far; nothing where its cards are others.
std::optional<nullgpu_counts> nullCounters() {
  static const auto read = reinterpret_cast<decltype(&nullgpu_counters)>(dlsym(RTLD_DEFAULT, "nullgpu_counters"));
  nullgpu_counts counts{};
  counts.size = sizeof counts;
  if (!read || read(&counts) != 0 || counts.size != sizeof counts) return std::nullopt;
  return counts;
}

nullgpu_counts counts() { return nullCounters().value_or(nullgpu_counts{}); }

Traffic between(nullgpu_traffic before, nullgpu_traffic after) {
  return {after.calls - before.calls, after.bytes - before.bytes};
}

Traffic together(Traffic one, Traffic other) { return {one.calls + other.calls, one.bytes + other.bytes}; }

void addCollectives(const nullgpu_counts& before, const nullgpu_counts& after, RehearsedRank& rank) {
  std::map<std::string, nullgpu_traffic> earlier;
  for (const nullgpu_collective& each : before.collectives)
    if (each.name) earlier[each.name] = {each.calls, each.bytes};
  for (const nullgpu_collective& each : after.collectives) {
    if (!each.name) continue;
    const Traffic own = between(earlier[each.name], {each.calls, each.bytes});
    if (own.calls > 0) rank.collectives[each.name] = own;
  }
}

/// What collectives read is held until torch's thread has seen them end and the next one is called, such as the buckets
/// that were laid out anew behind the first step. Steps on null cards are quicker than that thread, so the last one
/// waits for it.
llvm::Error warmUp(TrialContext& context, Training& training, int64_t steps) {
  const int64_t last = context.communicator.worldSize() > 1 ? std::min<int64_t>(steps, 1) : 0;
  if (auto error = runSteps(context, training, steps - last, "warmup", false)) return error;
  if (last == 0) return llvm::Error::success();
  context.device.synchronize();
  std::this_thread::sleep_for(kCollectivesSeen);
  return runSteps(context, training, last, "warmup", false);
}

/// The waiting for the device at both ends is not the steps'.
llvm::Expected<RehearsedRank> countSteps(TrialContext& context, Training& training, int64_t steps) {
  context.device.synchronize();
  context.communicator.barrier();
  context.device.resetMemoryPeaks();
  RehearsedRank rank;
  const nullgpu_counts before = counts();
  const double seconds_before = profile::launchingSeconds();
  if (auto error = runSteps(context, training, steps, "steps", false)) return error;
  rank.host_seconds = profile::launchingSeconds() - seconds_before;
  rank.synchronisations = counts().synchronizations - before.synchronizations;
  context.device.synchronize();
  const nullgpu_counts after = counts();
  rank.launches = after.launches - before.launches;
  rank.to_device = between(before.to_card, after.to_card);
  rank.from_device = between(before.from_card, after.from_card);
  rank.within_devices =
      together(between(before.within_card, after.within_card), between(before.between_cards, after.between_cards));
  addCollectives(before, after, rank);
  if (const auto peaks = context.device.memoryPeaks()) {
    rank.device_memory_allocated = static_cast<uint64_t>(peaks->allocated);
    rank.device_memory_reserved = static_cast<uint64_t>(peaks->held);
  }
  rank.host_memory = static_cast<uint64_t>(device::residentPeak().value_or(0));
  return rank;
}

llvm::Error observeStep(TrialContext& context, Training& training, int64_t steps, RehearsedRank& rank) {
  llvm::Error error = llvm::Error::success();
  const auto run = [&] {
    error = llvm::joinErrors(std::move(error), runSteps(context, training, 1, "observe", false));
    if (!error) context.device.synchronize();
  };
  const profile::OperatorWork work =
      profile::operatorWork(context.device.torchDevice().type(), context.device.cacheBytes(), run);
  if (error) return error;
  for (const auto& [type, count] : work.operations) rank.operations[type] = count * static_cast<double>(steps);
  rank.memory_bytes = work.memory_bytes * static_cast<double>(steps);
  return llvm::Error::success();
}

llvm::Expected<plan::Rehearsed> gather(TrialContext& context, RehearsedRank own, int64_t steps) {
  plan::Rehearsed all{static_cast<unsigned>(steps), {std::move(own)}};
  const std::string text = plan::canonicalJson(plan::written(all));
  all.ranks.clear();
  for (const std::string& one : profile::gatherTexts(context.communicator, text)) {
    auto value = llvm::json::parse(one);
    if (!value) return value.takeError();
    auto counted = plan::readRecord<plan::Rehearsed>(*value, "what a rank counted");
    if (!counted) return counted.takeError();
    for (RehearsedRank& rank : counted->ranks) all.ranks.push_back(std::move(rank));
  }
  return all;
}

}  // namespace

llvm::Error checkRehearsal(const plan::TrialSpec& spec) {
  if (spec.kind != plan::TrialKind::Timed)
    return llvm::createStringError("a rehearsal is a timed trial, and this is a " +
                                   std::string(plan::toString(spec.kind)) + " trial: expc rehearse makes it one");
  if (!spec.metrics.empty())
    return llvm::createStringError("a rehearsal measures nothing, and is asked for metric " + spec.metrics.front() +
                                   ": ask for none");
  for (const llvm::json::Value& slot : spec.slots) {
    const llvm::json::Object* object = slot.getAsObject();
    if (!object || !object->getBoolean("null").value_or(false))
      return llvm::createStringError("a rehearsal runs on null cards, and the trial's slot is " +
                                     llvm::formatv("{0}", slot).str() + ": expc rehearse gives it null cards");
  }
  if (!nullCounters())
    return llvm::createStringError(
        "a rehearsal counts what null cards do, and this process has not loaded libnullgpu.so: expc rehearse sets "
        "LD_PRELOAD and LD_LIBRARY_PATH for it (docs/null-gpu.md)");
  return llvm::Error::success();
}

std::string standInForData(const plan::TrialSpec& spec, llvm::json::Object& parameters) {
  const llvm::json::Object* data = parameters.getObject("data");
  if (!spec.rehearsal || !data || data->size() != 1) return "";
  const llvm::json::Array* arguments = data->begin()->second.getAsArray();
  const auto path = arguments && arguments->size() == 1 ? (*arguments)[0].getAsString() : std::nullopt;
  std::error_code ignored;
  if (!path || std::filesystem::exists(std::filesystem::path(spec.root) / path->str(), ignored)) return "";
  std::string note = llvm::formatv("data: '{0}' does not exist, and made-up data stands in for it", *path);
  parameters["data"] = llvm::json::Object{{"synthetic", llvm::json::Array{kMadeUp}}};
  return note;
}

llvm::Expected<plan::Event> rehearse(TrialContext& context, Training& training, const Settings& settings) {
  if (auto error = warmUp(context, training, settings.warmup)) return error;
  auto rank = countSteps(context, training, settings.steps);
  if (!rank) return rank.takeError();
  if (auto error = observeStep(context, training, settings.steps, *rank)) return error;
  auto rehearsed = gather(context, std::move(*rank), settings.steps);
  if (!rehearsed) return rehearsed.takeError();
  return plan::Event{.type = plan::Event::Type::Result,
                     .notes = {training.notes().begin(), training.notes().end()},
                     .rehearsed = std::move(*rehearsed)};
}

}  // namespace expc::workload
