#pragma once

// How long the rest will take, from the medians of what similar trials took.

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/store/records.h"

namespace expc::engine {

class Pace {
 public:
  /// What earlier runs measured.
  void learn(const store::Results& results);
  void learn(plan::TrialKind kind, const std::string& point, double seconds);

  /// Median of the point's trials of that kind; of the kind's points if this one was never run; nothing if none was.
  std::optional<double> secondsOf(plan::TrialKind kind, const std::string& point) const;
  /// Mean over `points`: what one trial of a block costs.
  std::optional<double> meanSeconds(const plan::Plan& plan, plan::TrialKind kind) const;

 private:
  std::map<std::pair<plan::TrialKind, std::string>, std::vector<double>> durations_;
};

}  // namespace expc::engine
