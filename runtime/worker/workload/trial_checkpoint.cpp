#include "runtime/worker/workload/trial_checkpoint.h"

#include <fmt/format.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include "runtime/plan/json.h"
#include "runtime/worker/workload/paths.h"

namespace expc::workload {
namespace {

using llvm::json::Object;

std::string textOf(const llvm::json::Value& value) {
  if (auto text = value.getAsString()) return text->str();
  return plan::canonicalJson(value);
}

llvm::Expected<std::optional<CheckpointFolder::Checkpoint>> newestOfAll(TrialContext& context,
                                                                        CheckpointFolder& folder) {
  auto found = folder.newest();
  if (!found) return found.takeError();
  const double epochs = *found ? static_cast<double>((*found)->epochs) : 0;
  const auto range = context.communicator.allReduce(std::vector<double>{epochs, -epochs}, comm::Reduction::Max);
  if (range[0] != -range[1])
    return llvm::createStringError(
        fmt::format("the ranks see different checkpoints in {} (after epoch {} and {}): it "
                    "must be one folder for all of them",
                    folder.path(), -range[1], range[0]));
  if (context.communicator.rank() == 0)
    if (auto error = folder.prepare()) return error;
  return found;
}

}  // namespace

TrialIdentity identityOf(const TrialContext& context) {
  const plan::TrialSpec& spec = context.spec;
  const char* data = std::getenv("EXPC_DATA_DIGEST");
  Object asked{{"point", spec.point},
               {"workload", spec.workload},
               {"workload version", std::to_string(spec.workload_version)},
               {"data", data ? data : ""},
               {"seed", std::to_string(spec.seed)},
               {"ranks", std::to_string(spec.world_size)}};
  for (const auto& [name, value] : spec.settings) asked["setting " + name.str()] = textOf(value);
  for (const auto& [name, value] : spec.parameters)
    if (name != "checkpoints") asked["parameter " + name.str()] = textOf(value);
  TrialIdentity identity;
  identity.name =
      fmt::format("{}-seed{}-{}", spec.point, spec.seed, plan::shortHash(plan::canonicalJson(Object(asked))));
  identity.facts = std::move(asked);
  Object environment;
  context.device.describe(environment);
  for (const auto& [name, value] : environment) identity.facts["environment " + name.str()] = textOf(value);
  return identity;
}

llvm::Expected<Kept> openCheckpoints(TrialContext& context, const std::string& path) {
  Kept kept;
  if (path.empty()) return kept;
  kept.folder.emplace(pathFrom(context.spec.root, path), identityOf(context));
  auto found = newestOfAll(context, *kept.folder);
  if (!found) return found.takeError();
  kept.newest = std::move(*found);
  return kept;
}

std::string wentOnFrom(const CheckpointFolder::Checkpoint& checkpoint, int64_t epochs) {
  return fmt::format("went on after epoch {} of {} from {}; times are the sum of both parts", checkpoint.epochs, epochs,
                     checkpoint.path);
}

}  // namespace expc::workload
