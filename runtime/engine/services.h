#pragma once

// The services of a run: which are up on each lane, and their ends. A service is a launch that does not end by itself,
// on the first node of its lane; a trial that needs it starts once it is ready. Private to this directory.
//
// An instance is told from another by what it reads (plan::instanceOf), its devices, and how long the design lets it
// live. A lane keeps the instances that its next trial needs and ends all others first, since devices and ports are
// theirs until they are gone.

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/engine/inputs/file_watch.h"
#include "runtime/engine/inputs/trial_folders.h"
#include "runtime/engine/launch/trial_runner.h"
#include "runtime/engine/options.h"
#include "runtime/engine/progress.h"
#include "runtime/engine/setup.h"
#include "runtime/engine/trial_request.h"
#include "runtime/store/records.h"

namespace expc::engine {

/// "2 processes that the preparation left behind were ended: …" with the way out; "" if `program` left none.
std::string leftBehindText(const TrialEnd& end, std::string_view program);

/// A trial that is about to start, as its services see it.
struct ServedTrial {
  const Point& point;
  const store::Block& block;
  unsigned position = 0, attempt = 1;
  const std::vector<NodePart>& parts;
};

class Services {
 public:
  /// All arguments must outlive it.
  Services(const Setup& setup, const EngineOptions& options, launch::TrialRunner& runner, inputs::FileWatch& files,
           inputs::TrialFolders& folders, ProgressListener& listener, unsigned lanes)
      : setup_(setup),
        options_(options),
        runner_(runner),
        files_(files),
        folders_(folders),
        listener_(listener),
        lanes_(lanes) {}

  /// Brings up what the trial needs on the lane, and ends what it does not need. Returns whether the trial can start,
  /// or fail: all are ready, or one has died. To be called again whenever something happened until it does.
  Expected<bool> ready(unsigned lane, const ServedTrial& trial);
  /// Completes the request of a trial of the lane with the addresses of its services.
  void address(unsigned lane, TrialRequest& request) const;
  /// How a service of the lane ended before it was told to; null if all are well. `reason` names the service.
  const TrialEnd* death(unsigned lane) const;
  /// Takes the end of a trial of the lane: supplies what its services measured. Services that died are forgotten, so
  /// that the next attempt starts others. Returns processes of them that do not die.
  std::vector<int> trialOver(unsigned lane, store::TrialResult& result);
  /// Tells all services of the lane to end.
  void end(unsigned lane);
  /// Whether some service of the lane is up, starts or ends.
  bool any(unsigned lane) const;

 private:
  struct Instance {
    std::string name, key, host, folder, metric;
    uint16_t port = 0;
    uint64_t process = 0;  // that leads it, once it is ready
    unsigned workload = 0;
    TrialRequest request;
    bool told = false;              // to end
    std::optional<double> seconds;  // that it took until it was ready
    std::optional<TrialEnd> death;
    bool gone = false;
  };

  Error start(unsigned lane, const ServedTrial& trial, const plan::Service& service, std::string key);
  /// Takes a word of an instance: that it is ready, or why it fails.
  void heard(Instance& instance, const protocol::Event& event);
  Error ended(Instance& instance, TrialEnd end);
  uint16_t portFor() const;
  std::string folderFor(const std::string& name);

  const Setup& setup_;
  const EngineOptions& options_;
  launch::TrialRunner& runner_;
  inputs::FileWatch& files_;
  inputs::TrialFolders& folders_;
  ProgressListener& listener_;
  std::vector<std::vector<std::shared_ptr<Instance>>> lanes_;
  unsigned started_ = 0;
  std::set<std::string> told_ready_, told_failed_;  // services of which the first time was told to the user
};

}  // namespace expc::engine
