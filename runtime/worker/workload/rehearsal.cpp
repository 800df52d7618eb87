// Rehearsals: a timed trial on simulated GPUs ("null cards") whose steps are counted instead of timed. The null
// libraries replace CUDA and NCCL and count launches, copies and collectives; this file reads their counters, the
// memory's peaks and the host's processor time, and observes the operators of one step (docs/layers/worker.md,
// "Rehearsals").

#include <dlfcn.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/FormatVariadic.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <thread>
#include <utility>

#include "nullgpu/core/counters_api.h"
#include "runtime/base/failure.h"
#include "runtime/base/json_record.h"
#include "runtime/base/llvm.h"
#include "runtime/worker/device/host.h"
#include "runtime/worker/profile/breakdown.h"
#include "runtime/worker/profile/launching_threads.h"
#include "runtime/worker/profile/operator_work.h"
#include "runtime/worker/workload/training.h"

namespace expc::workload {
namespace {

using protocol::RehearsedRank, protocol::Traffic;

/// The number of made-up rows or images: enough for a step of many ranks.
constexpr int64_t kMadeUp = 4096;
/// Time in which torch's thread that watches collectives has certainly looked at them; it does so ten times a second.
constexpr auto kCollectivesSeen = std::chrono::milliseconds(300);

/// The counters of this process' null cards; nothing if its devices are real. The function is looked up at run time
/// because the library is preloaded, not linked.
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

/// The collectives between two readings, by name.
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

/// The warm-up. torch holds the inputs of collectives, such as the buckets that are laid out anew after the first
/// step, until its watching thread has seen them end and the next collective is called. Steps on null cards are
/// faster than that thread, so the last warm-up step waits for it; otherwise the peaks would count memory that real
/// steps do not hold.
Error warmUp(TrialContext& context, Training& training, int64_t steps) {
  const int64_t last = context.communicator.worldSize() > 1 ? std::min<int64_t>(steps, 1) : 0;
  TRY(runSteps(context, training, steps - last, "warmup", false));
  if (last == 0) return Error::success();
  context.device.synchronize();
  std::this_thread::sleep_for(kCollectivesSeen);
  return runSteps(context, training, last, "warmup", false);
}

/// Counts steps between two waits for the device, which do not count themselves.
Expected<RehearsedRank> countSteps(TrialContext& context, Training& training, int64_t steps) {
  context.device.synchronize();
  context.communicator.barrier();
  context.device.resetMemoryPeaks();
  RehearsedRank rank;
  const nullgpu_counts before = counts();
  const double seconds_before = profile::launchingSeconds();
  TRY(runSteps(context, training, steps, "steps", false));
  rank.host_seconds = profile::launchingSeconds() - seconds_before;
  // Read before the wait below, which is a synchronisation itself.
  rank.synchronisations = counts().synchronizations - before.synchronizations;
  context.device.synchronize();
  const nullgpu_counts after = counts();
  // Differences of counters, so that start-up and warm-up do not count.
  rank.launches = after.launches - before.launches;
  rank.to_device = between(before.to_card, after.to_card);
  rank.from_device = between(before.from_card, after.from_card);
  rank.within_devices =
      together(between(before.within_card, after.within_card), between(before.between_cards, after.between_cards));
  addCollectives(before, after, rank);
  if (const auto peaks = context.device.memoryPeaks()) {
    rank.device_memory_allocated = uint64_t(peaks->allocated);
    rank.device_memory_reserved = uint64_t(peaks->held);
  }
  rank.host_memory = uint64_t(device::residentPeak().value_or(0));
  return rank;
}

/// Observes the operators of one more step. It goes operator by operator even where other steps are one graph.
Error observeStep(TrialContext& context, Training& training, int64_t steps, RehearsedRank& rank) {
  Error error = Error::success();
  const auto run = [&] {
    error = llvm::joinErrors(std::move(error), runSteps(context, training, 1, "observe", false));
    if (!error) context.device.synchronize();
  };
  const profile::OperatorWork work =
      profile::operatorWork(context.device.torchDevice().type(), context.device.cacheBytes(), run);
  if (error) return error;
  for (const auto& [type, count] : work.operations) rank.operations[type] = count * double(steps);
  rank.memory_bytes = work.memory_bytes * double(steps);
  return Error::success();
}

/// Tries the step that takes most memory, if the workload has one. The few counted steps need not have met it, and a
/// point that "runs" must get through an epoch.
Error tryWidestStep(TrialContext& context, Training& training, RehearsedRank& rank) {
  context.device.resetMemoryPeaks();
  auto tried = TRY(training.widestStep());
  context.device.synchronize();
  if (const auto peaks = context.device.memoryPeaks(); peaks && tried) {
    rank.widest_allocated = uint64_t(peaks->allocated);
    rank.widest_reserved = uint64_t(peaks->held);
  }
  return Error::success();
}

/// All ranks' counts, on every rank, sent as the JSON that the result has.
Expected<protocol::Rehearsed> gather(TrialContext& context, RehearsedRank own, int64_t steps) {
  protocol::Rehearsed all{unsigned(steps), {std::move(own)}, 0};
  const std::string text = canonicalJson(base::written(all));
  all.ranks.clear();
  for (const std::string& one : profile::gatherTexts(context.communicator, text)) {
    auto value = TRY(json::parse(one));
    auto counted = TRY(base::readRecord<protocol::Rehearsed>(value, "what a rank counted"));
    for (RehearsedRank& rank : counted.ranks) all.ranks.push_back(std::move(rank));
  }
  return all;
}

}  // namespace

Error checkRehearsal(const protocol::TrialSpec& spec) {
  if (spec.kind != TrialKind::Timed)
    return failure("a rehearsal is a timed trial, and this is a {} trial: use expc rehearse",
                   plan::toString(spec.kind));
  if (!spec.metrics.empty())
    return failure("a rehearsal measures nothing, but was asked for metric {}: leave it out", spec.metrics.front());
  for (const json::Value& slot : spec.slots) {
    // The engine marks a null card's slot.
    const json::Object* object = slot.getAsObject();
    if (!object || !object->getBoolean("null").value_or(false))
      return failure("a rehearsal runs on simulated GPUs, but the trial's device is {}: use expc rehearse",
                     llvm::formatv("{0}", slot).str());
  }
  if (!nullCounters())
    return failure(
        "a rehearsal needs libnullgpu.so, which this process has not loaded: expc rehearse sets LD_PRELOAD and "
        "LD_LIBRARY_PATH for it (docs/null-gpu.md)");
  return Error::success();
}

// Only {"folder":["a path"]} and the like have a path; everything else is left for the parameters' own check.
std::string standInForData(const protocol::TrialSpec& spec, json::Object& parameters) {
  const json::Object* data = parameters.getObject("data");
  if (!spec.rehearsal || !data || data->size() != 1) return "";
  const json::Array* arguments = data->begin()->second.getAsArray();
  const auto path = arguments && arguments->size() == 1 ? (*arguments)[0].getAsString() : std::nullopt;
  std::error_code ignored;
  if (!path || std::filesystem::exists(std::filesystem::path(spec.root) / path->str(), ignored)) return "";
  std::string note = llvm::formatv("data: '{0}' does not exist, so synthetic data is used", *path);
  parameters["data"] = json::Object{{"synthetic", json::Array{kMadeUp}}};
  return note;
}

Expected<protocol::Event> rehearse(TrialContext& context, Training& training, const Settings& settings) {
  TRY(warmUp(context, training, settings.warmup));
  auto rank = TRY(countSteps(context, training, settings.steps));
  TRY(observeStep(context, training, settings.steps, rank));
  TRY(tryWidestStep(context, training, rank));
  auto rehearsed = TRY(gather(context, std::move(rank), settings.steps));
  rehearsed.epoch_steps = training.stepsPerEpoch();
  return protocol::Event{
      .type = protocol::Event::Type::Result, .notes = training.notes(), .rehearsed = std::move(rehearsed)};
}

}  // namespace expc::workload
