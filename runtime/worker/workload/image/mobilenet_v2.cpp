#include "runtime/worker/workload/image/mobilenet_v2.h"

#include "runtime/worker/workload/declared/parameter_table.h"
#include "runtime/worker/workload/image/parameters.h"
#include "runtime/worker/workload/image/training.h"
#include "runtime/worker/workload/rehearsal.h"

namespace expc::workload::image {
namespace {

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
  return {{"image.mobilenet_v2", 1, declaredParameters(), Training::metrics()}, run, deterministic};
}

}  // namespace expc::workload::image
