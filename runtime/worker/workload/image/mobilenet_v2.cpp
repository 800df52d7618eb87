#include "runtime/worker/workload/image/mobilenet_v2.h"

#include "runtime/worker/workload/declared/parameter_table.h"
#include "runtime/worker/workload/image/parameters.h"
#include "runtime/worker/workload/image/training.h"
#include "runtime/worker/workload/profile.h"
#include "runtime/worker/workload/rehearsal.h"

namespace expc::workload::image {
namespace {

std::vector<Metric> declaredMetrics() {
  using plan::TrialKind;
  std::vector<Metric> metrics = {{"step_time", "Time", "lower", TrialKind::Timed, false},
                                 {"images_per_s", "Images / Time", "higher", TrialKind::Timed, false},
                                 {"train_time", "Time", "lower", TrialKind::Timed, false},
                                 {"epoch_time", "Time", "lower", TrialKind::Timed, false},
                                 {"startup_time", "Time", "lower", TrialKind::Timed, false},
                                 {"first_step_time", "Time", "lower", TrialKind::Timed, false},
                                 {"load_wait_time", "Time", "lower", TrialKind::Timed, false},
                                 {"load_wait_share", "Share", "lower", TrialKind::Timed, false},
                                 {"epoch_pause_time", "Time", "lower", TrialKind::Timed, false},
                                 {"images_skipped", "float", "lower", TrialKind::Timed, true},
                                 {"host_memory_peak", "Bytes", "lower", TrialKind::Timed, true},
                                 {"device_memory_peak", "Bytes", "lower", TrialKind::Timed, true},
                                 {"device_memory_allocated_peak", "Bytes", "lower", TrialKind::Timed, true},
                                 {"energy", "Energy", "lower", TrialKind::Timed, false},
                                 {"accuracy", "Share", "higher", TrialKind::Quality, false},
                                 {"accuracy_curve", "Share", "higher", TrialKind::Quality, false, true},
                                 {"train_accuracy", "Share", "higher", TrialKind::Quality, false},
                                 {"loss", "Series", "lower", TrialKind::Quality, false, true},
                                 {"epoch_loss", "Series", "lower", TrialKind::Quality, false, true},
                                 {"final_loss", "float", "lower", TrialKind::Quality, false},
                                 {"quality_train_time", "Time", "lower", TrialKind::Quality, false},
                                 {"evaluation_time", "Time", "lower", TrialKind::Quality, false},
                                 {"evaluation_pause_time", "Time", "lower", TrialKind::Quality, false},
                                 {"total_time", "Time", "lower", TrialKind::Quality, false}};
  const std::vector<Metric> profiled = profileMetrics();
  metrics.insert(metrics.end(), profiled.begin(), profiled.end());
  return metrics;
}

llvm::Expected<plan::Event> run(TrialContext& context) {
  llvm::json::Object given = context.spec.parameters;
  const std::string stand_in = standInForData(context.spec, given);
  auto parameters = readParameters(given);
  if (!parameters) return parameters.takeError();
  auto settings = readSettings(context.spec);
  if (!settings) return settings.takeError();
  auto result = runTraining(context, *settings, parameters->checkpoints, [&](int64_t epochs_done) {
    return Training::create(context, *parameters, settings->epochs, epochs_done);
  });
  if (result && !stand_in.empty()) result->notes.push_back(stand_in);
  return result;
}

}  // namespace

/// Parameters that cannot be read are run()'s to refuse.
bool deterministic(const llvm::json::Object& parameters) {
  auto read = readParameters(parameters);
  if (!read) llvm::consumeError(read.takeError());
  return read && read->deterministic;
}

Workload mobilenetV2() {
  return {{"image.mobilenet_v2", 1, declaredParameters(), declaredMetrics()}, run, deterministic};
}

}  // namespace expc::workload::image
