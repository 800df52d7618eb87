#include "runtime/worker/workload/image/mobilenet_v2.h"

#include "runtime/worker/workload/image/parameters.h"
#include "runtime/worker/workload/image/quality.h"
#include "runtime/worker/workload/image/timed.h"

namespace expc::workload::image {
namespace {

std::vector<Metric> declaredMetrics() {
  using plan::TrialKind;
  return {{"step_time", "Time", "lower", TrialKind::Timed, false},
          {"images_per_s", "Images / Time", "higher", TrialKind::Timed, false},
          {"train_time", "Time", "lower", TrialKind::Timed, false},
          {"startup_time", "Time", "lower", TrialKind::Timed, false},
          {"first_step_time", "Time", "lower", TrialKind::Timed, false},
          {"load_wait_share", "Share", "lower", TrialKind::Timed, false},
          {"host_memory_peak", "Bytes", "lower", TrialKind::Timed, true},
          {"device_memory_peak", "Bytes", "lower", TrialKind::Timed, true},
          {"accuracy", "Share", "higher", TrialKind::Quality, false},
          {"train_accuracy", "Share", "higher", TrialKind::Quality, false},
          {"final_loss", "float", "lower", TrialKind::Quality, false},
          {"quality_train_time", "Time", "lower", TrialKind::Quality, false}};
}

llvm::Expected<plan::Event> run(TrialContext& context) {
  auto parameters = readParameters(context.spec.parameters);
  if (!parameters) return parameters.takeError();
  auto settings = readSettings(context.spec);
  if (!settings) return settings.takeError();
  return context.spec.kind == plan::TrialKind::Timed ? runTimed(context, *parameters, *settings)
                                                     : runQuality(context, *parameters, *settings);
}

}  // namespace

Workload mobilenetV2() { return {"image.mobilenet_v2", 1, declaredParameters(), declaredMetrics(), run}; }

}  // namespace expc::workload::image
