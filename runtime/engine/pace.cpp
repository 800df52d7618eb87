#include "runtime/engine/pace.h"

#include <algorithm>

namespace expc::engine {
namespace {

double median(std::vector<double> values) {
  auto middle = values.begin() + values.size() / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

void Pace::learn(const store::Results& results) {
  for (const store::Trial& trial : results.trials) {
    if (trial.status == store::TrialStatus::Valid) learn(trial.kind, trial.point, trial.ended - trial.started);
  }
}

void Pace::learn(plan::TrialKind kind, const std::string& point, double seconds) {
  durations_[{kind, point}].push_back(seconds);
}

std::optional<double> Pace::secondsOf(plan::TrialKind kind, const std::string& point) const {
  auto own = durations_.find({kind, point});
  if (own != durations_.end()) return median(own->second);
  std::vector<double> medians;
  for (const auto& [key, values] : durations_) {
    if (key.first == kind) medians.push_back(median(values));
  }
  if (medians.empty()) return std::nullopt;
  return median(std::move(medians));
}

std::optional<double> Pace::meanSeconds(const plan::Plan& plan, plan::TrialKind kind) const {
  double sum = 0;
  unsigned count = 0;
  for (const plan::Point& point : plan.points) {
    if (!point.startable()) continue;
    auto seconds = secondsOf(kind, point.id);
    if (!seconds) return std::nullopt;
    sum += *seconds;
    ++count;
  }
  if (count == 0) return std::nullopt;
  return sum / count;
}

}  // namespace expc::engine
