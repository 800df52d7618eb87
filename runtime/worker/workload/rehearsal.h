#pragma once

// A timed trial on null cards whose steps are counted instead of timed.

#include <llvm/Support/Error.h>

#include "runtime/worker/workload/training.h"

namespace expc::workload {

/// Why a rehearsal cannot be had: another kind of trial, metrics that it would have to measure, cards that are none of
/// ours.
llvm::Error checkRehearsal(const plan::TrialSpec& spec);

/// In a rehearsal: puts made-up data in the place of a folder or file of the parameter `data` that is not there, so
/// that the rest of a point is seen all the same.
/// @returns whether it did, with a note for the result; of any other trial "".
std::string standInForData(const plan::TrialSpec& spec, llvm::json::Object& parameters);

/// `warmup` steps, then `steps` that are counted, then one whose operators are observed: their operations and bytes
/// times `steps` are those that the result tells. The result has the training's notes, and no metrics: a loss is
/// whatever memory held. Every rank calls it; rank 0 has all ranks' counts.
llvm::Expected<plan::Event> rehearse(TrialContext& context, Training& training, const Settings& settings);

/// runTraining with parameters as the specification has them. `make` gives a MakeTraining for them and the settings,
/// and is told whether made-up data stands in for what a rehearsal lacks.
template <typename Parameters, typename Make>
llvm::Expected<plan::Event> runTraining(TrialContext& context,
                                        llvm::Expected<Parameters> (*read)(const llvm::json::Object&), Make make) {
  llvm::json::Object given = context.spec.parameters;
  const std::string stand_in = standInForData(context.spec, given);
  auto parameters = read(given);
  if (!parameters) return parameters.takeError();
  auto settings = readSettings(context.spec);
  if (!settings) return settings.takeError();
  auto result = runTraining(context, *settings, parameters->checkpoints,
                            make(*parameters, *settings, /*made_up=*/!stand_in.empty()));
  if (result && !stand_in.empty()) result->notes.push_back(stand_in);
  return result;
}

}  // namespace expc::workload
