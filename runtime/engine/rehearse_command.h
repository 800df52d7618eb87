#pragma once

// Rehearses points of commands: a trial on null cards whose processes leave records, of which the engine makes the
// result. Preparations run and services start as in a run, in the folder of rehearsals: a preparation once for all
// points that share it, a service once for each instance. Private to this directory.

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/engine/campaign.h"
#include "runtime/engine/launch/trial_runner.h"
#include "runtime/engine/services.h"
#include "runtime/engine/setup.h"

namespace expc::engine {

class CommandRehearser {
 public:
  /// The references must outlive it. `folder` is that of rehearsals. A program is ended after `seconds`.
  CommandRehearser(Setup& setup, const std::string& folder, std::optional<double> seconds, launch::TrialRunner& runner,
                   ProgressListener& listener);

  /// Runs a few steps of the point. `request` lacks only what a command needs; its memory limit is that of all
  /// processes. If the preparation or a service fails, the point ends with that reason.
  Expected<TrialEnd> run(const Point& point, TrialRequest request,
                         std::function<void(const protocol::Event&)> progress);
  /// Ends the services.
  Error end();

 private:
  /// Prepares the point unless that was done for another one. Returns why it failed, or "".
  std::string prepared(const Point& point, protocol::TrialSpec& spec);
  /// Fills in what ends the trial after its third marked step, with its program or after a while.
  Error complete(const Point& point, const std::vector<NodePart>& parts, TrialRequest& request);
  /// Passes over the records of preparations and services that have ended.
  void passOver();
  /// Replaces the result by what the records of the processes say, those of services included.
  void takeRecords(const std::string& folder, TrialEnd& end) const;

  Setup& setup_;
  const std::string folder_;
  const double seconds_;
  launch::TrialRunner& runner_;
  ProgressListener& listener_;
  const EngineOptions options_;
  inputs::FileWatch files_;
  inputs::TrialFolders folders_;
  Services services_;
  unsigned position_ = 0;
  std::set<int64_t> over_;                       // processes to pass over
  std::map<std::string, std::string> prepared_;  // folder -> why its preparation failed
};

}  // namespace expc::engine
