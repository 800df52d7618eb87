#include "runtime/worker/workload/image/mobilenet_v2.h"

#include "runtime/worker/workload/declared/parameter_table.h"
#include "runtime/worker/workload/image/parameters.h"
#include "runtime/worker/workload/image/training.h"
#include "runtime/worker/workload/rehearsal.h"

namespace expc::workload::image {
namespace {

llvm::Expected<plan::Event> run(TrialContext& context) {
  return runTraining(context, readParameters, [&](const Parameters& parameters, const Settings& settings, bool) {
    return [&](int64_t epochs_done) { return Training::create(context, parameters, settings.epochs, epochs_done); };
  });
}

}  // namespace

/// Parameters that cannot be read are run()'s to refuse.
bool deterministic(const llvm::json::Object& parameters) {
  auto read = readParameters(parameters);
  if (!read) llvm::consumeError(read.takeError());
  return read && read->deterministic;
}

Workload mobilenetV2() {
  return {{"image.mobilenet_v2", 1, declaredParameters(), Training::metrics()}, run, deterministic};
}

}  // namespace expc::workload::image
