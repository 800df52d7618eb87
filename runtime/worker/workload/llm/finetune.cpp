#include "runtime/worker/workload/llm/finetune.h"

#include "runtime/worker/workload/declared/parameter_table.h"
#include "runtime/worker/workload/llm/parameters.h"
#include "runtime/worker/workload/llm/training.h"
#include "runtime/worker/workload/profile.h"
#include "runtime/worker/workload/rehearsal.h"

namespace expc::workload::llm {
namespace {

std::vector<Metric> declaredMetrics() {
  using plan::TrialKind;
  std::vector<Metric> metrics = {{"iteration_time", "Time", "lower", TrialKind::Timed},
                                 {"tokens_per_s", "Tokens / Time", "higher", TrialKind::Timed},
                                 {"train_time", "Time", "lower", TrialKind::Timed},
                                 {"epoch_time", "Time", "lower", TrialKind::Timed},
                                 {"startup_time", "Time", "lower", TrialKind::Timed},
                                 {"first_step_time", "Time", "lower", TrialKind::Timed},
                                 {"load_wait_share", "Share", "lower", TrialKind::Timed},
                                 {"padding_share", "Share", "lower", TrialKind::Timed},
                                 {"flops_utilisation", "Share", "higher", TrialKind::Timed},
                                 {"host_memory_peak", "Bytes", "lower", TrialKind::Timed, true},
                                 {"device_memory_peak", "Bytes", "lower", TrialKind::Timed, true},
                                 {"device_memory_allocated_peak", "Bytes", "lower", TrialKind::Timed, true},
                                 {"energy", "Energy", "lower", TrialKind::Timed},
                                 {"loss", "Series", "lower", TrialKind::Quality, false, true},
                                 {"final_loss", "float", "lower", TrialKind::Quality},
                                 {"evaluation_loss", "float", "lower", TrialKind::Quality},
                                 {"reward_margin", "float", "higher", TrialKind::Quality},
                                 {"reward_accuracy", "Share", "higher", TrialKind::Quality},
                                 {"total_time", "Time", "lower", TrialKind::Quality}};
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
  if (!stand_in.empty()) {
    // Nobody knows how long the rows are, and the longest that there can be take most. Each step has its own, since dpo
    // asks the reference of a row once.
    parameters->data.longest = true;
    parameters->data.synthetic = parameters->batch * parameters->accumulation * parameters->gpus *
                                 (settings->warmup + settings->steps + kTracedSteps);
  }
  auto result = runTraining(context, *settings, parameters->checkpoints,
                            [&](int64_t) { return Training::create(context, *parameters, *settings); });
  if (result && !stand_in.empty()) result->notes.push_back(stand_in);
  return result;
}

}  // namespace

Workload finetune() { return {{"llm.finetune", 1, declaredParameters(), declaredMetrics()}, run}; }

}  // namespace expc::workload::llm
