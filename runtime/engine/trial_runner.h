#pragma once

// One trial: launches its ranks, listens to them, and decides how it ended.

#include <llvm/Support/Error.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/engine/interrupts.h"
#include "runtime/engine/worker_client.h"
#include "runtime/plan/trial.h"
#include "runtime/store/records.h"

namespace expc::engine {

struct TrialEnd {
  store::TrialStatus status = store::TrialStatus::Failed;
  std::string reason, log_tail;
  std::map<std::string, double> metrics;
  std::vector<std::string> not_on_device;
  std::map<std::string, std::vector<double>> series;
  llvm::json::Object environment;
  std::optional<plan::Rehearsed> rehearsed;  // of a rehearsal that is valid
  std::vector<std::string> notes;
  bool server_died = false;
};

struct TrialRequest {
  plan::TrialSpec spec;
  std::vector<std::vector<std::string>> environment;  // for each rank
  std::string log_prefix;                             // rank r logs to PREFIX.r.log
  double timeout_seconds = 0;
};

struct TrialHooks {
  /// At least once a second; its error ends the trial and the run.
  std::function<llvm::Error()> tick;
  std::function<void(const plan::Event&)> progress;
};

/// The error is the environment's (no descriptors, no log file, the tick's); whatever the worker does wrong is in
/// TrialEnd.
llvm::Expected<TrialEnd> runTrial(WorkerServer& server, const Interrupts& interrupts, const TrialRequest& request,
                                  const TrialHooks& hooks);

}  // namespace expc::engine
