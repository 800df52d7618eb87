#include "runtime/worker/workload/image/profiled.h"

#include "runtime/worker/workload/image/training.h"
#include "runtime/worker/workload/profile.h"

namespace expc::workload::image {

llvm::Expected<plan::Event> runProfiled(TrialContext& context, const Parameters& parameters, const Settings& settings) {
  auto created = Training::create(context, parameters, 0);
  if (!created) return created.takeError();
  Training& training = **created;
  plan::Event result;
  result.type = plan::Event::Type::Result;
  if (auto error = profileTrial(context, training, settings, training.notes(), result)) return error;
  auto losses = training.takeLosses();
  if (!losses) return losses.takeError();
  result.series["loss"] = llvm::json::Array(*losses);
  return result;
}

}  // namespace expc::workload::image
