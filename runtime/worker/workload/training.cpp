#include "runtime/worker/workload/training.h"

#include "runtime/worker/workload/clock.h"
#include "runtime/worker/workload/profile.h"
#include "runtime/worker/workload/quality.h"
#include "runtime/worker/workload/rehearsal.h"

namespace expc::workload {

std::vector<Metric> metricsOf(const std::vector<profile::Measure>& timed, const Judged& judged) {
  using plan::TrialKind;
  std::vector<Metric> all;
  const auto add = [&](const std::vector<profile::Measure>& measures, TrialKind kind) {
    for (const profile::Measure& measure : measures) all.push_back({measure.name, kind});
  };
  add(timed, TrialKind::Timed);
  add(timedMetrics(Clocked()), TrialKind::Timed);
  add(judged.metrics, TrialKind::Quality);
  for (const auto& series : judged.series) all.push_back({series.first, TrialKind::Quality});
  add(profileMetrics(), TrialKind::Profile);
  return all;
}

llvm::Error runSteps(TrialContext& context, Training& training, int64_t count, std::string_view phase, bool marked) {
  for (int64_t i = 0; i < count; ++i) {
    auto more = training.step();
    if (!more) return more.takeError();
    if (marked) context.device.mark();
    context.progress.report(static_cast<uint64_t>(i + 1), static_cast<uint64_t>(count), phase);
  }
  return llvm::Error::success();
}

llvm::Expected<plan::Event> runTraining(TrialContext& context, const Settings& settings, const std::string& checkpoints,
                                        const MakeTraining& make) {
  if (context.spec.kind == plan::TrialKind::Quality) return qualityTrial(context, settings.epochs, checkpoints, make);
  auto created = make(0);
  if (!created) return created.takeError();
  Training& training = context.keep(std::move(*created));
  const Settings lengths = settings.over(training.stepsPerEpoch());
  auto result = context.spec.rehearsal                        ? rehearse(context, training, lengths)
                : context.spec.kind == plan::TrialKind::Timed ? timedTrial(context, training, lengths)
                                                              : profileTrial(context, training, lengths);
  if (result) training.describe(result->environment);
  return result;
}

}  // namespace expc::workload
