#include "runtime/worker/workload/llm/finetune.h"

#include "runtime/worker/workload/declared/parameter_table.h"
#include "runtime/worker/workload/llm/parameters.h"
#include "runtime/worker/workload/llm/training.h"
#include "runtime/worker/workload/profile.h"
#include "runtime/worker/workload/rehearsal.h"

namespace expc::workload::llm {
namespace {

llvm::Expected<plan::Event> run(TrialContext& context) {
  return runTraining(context, readParameters, [&](Parameters& parameters, const Settings& settings, bool made_up) {
    if (made_up) {
      // Nobody knows how long the rows are, and the longest that there can be take most. Each step has its own, since
      // dpo asks the reference of a row once.
      parameters.data.longest = true;
      parameters.data.synthetic = parameters.batch * parameters.accumulation * parameters.gpus *
                                  (settings.warmup + settings.steps + kTracedSteps);
    }
    return [&](int64_t) { return Training::create(context, parameters, settings); };
  });
}

}  // namespace

Workload finetune() { return {{"llm.finetune", 1, declaredParameters(), Training::metrics()}, run}; }

}  // namespace expc::workload::llm
