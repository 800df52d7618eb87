#include "runtime/analysis/outcomes.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace expc::analysis {
namespace {

using store::Trial;
using store::TrialStatus;

/// Later in this order decides what a block's outcome is.
int weight(TrialStatus status) {
  switch (status) {
    case TrialStatus::Valid:
      return 4;
    case TrialStatus::Timeout:
      return 3;
    case TrialStatus::Infeasible:
      return 2;
    case TrialStatus::Failed:
      return 1;
    case TrialStatus::Running:
    case TrialStatus::Interrupted:
      break;
  }
  return 0;
}

bool decides(const Trial& trial, const Trial& over) {
  return std::tuple(weight(trial.status), trial.attempt, trial.id) >
         std::tuple(weight(over.status), over.attempt, over.id);
}

void count(PointOutcomes& point, const Trial& trial, std::set<int64_t>& infeasible_blocks, int64_t& newest) {
  if (trial.status == TrialStatus::Failed) ++point.failed;
  if (trial.status == TrialStatus::Timeout) ++point.timeouts;
  if (trial.status == TrialStatus::Infeasible) infeasible_blocks.insert(trial.block);
  if (trial.status != TrialStatus::Valid && trial.id >= newest) {
    newest = trial.id;
    point.last_reason = trial.reason;
  }
}

}  // namespace

unsigned PointOutcomes::valid() const {
  return std::count_if(outcomes.begin(), outcomes.end(), [](const Outcome& outcome) { return outcome.valid(); });
}

unsigned PointOutcomes::ended() const {
  return std::count_if(outcomes.begin(), outcomes.end(), [](const Outcome& outcome) { return outcome.ended(); });
}

const Outcome* PointOutcomes::find(int64_t block, int64_t session) const {
  for (const Outcome& outcome : outcomes) {
    if (outcome.block == block && outcome.session == session) return &outcome;
  }
  return nullptr;
}

Outcomes::Outcomes(const store::Results& results) {
  for (const store::Session& session : results.sessions) hosts_[session.id] = session.host;

  using Key = std::pair<plan::TrialKind, std::string>;
  std::map<Key, std::map<std::pair<int64_t, int64_t>, const Trial*>> decided;
  std::map<Key, std::set<int64_t>> infeasible;
  std::map<Key, int64_t> newest;
  std::set<int64_t> seen;
  for (const Trial& trial : results.trials) {
    if (weight(trial.status) == 0 || !seen.insert(trial.id).second) continue;
    const Key key{trial.kind, trial.place()};
    count(points_[key], trial, infeasible[key], newest[key]);
    const Trial*& best = decided[key][{trial.block, trial.session}];
    if (!best || decides(trial, *best)) best = &trial;
  }
  for (const Trial& trial : results.trials) missing_.insert(trial.not_on_device.begin(), trial.not_on_device.end());
  for (const Trial& trial : results.trials) {
    for (const auto& [metric, value] : trial.metrics) missing_.erase(metric);
    for (const auto& [metric, values] : trial.series) missing_.erase(metric);
  }
  for (const auto& [key, places] : decided) {
    PointOutcomes& point = points_[key];
    point.infeasible_blocks = static_cast<unsigned>(infeasible[key].size());
    for (const auto& [place, trial] : places) point.outcomes.push_back({place.first, place.second, trial});
  }
}

const PointOutcomes& Outcomes::of(plan::TrialKind kind, std::string_view place) const {
  static const PointOutcomes none;
  const auto found = points_.find(std::pair<plan::TrialKind, std::string>(kind, place));
  return found == points_.end() ? none : found->second;
}

std::string Outcomes::host(int64_t session) const {
  const auto found = hosts_.find(session);
  return found == hosts_.end() ? "session " + std::to_string(session) : found->second;
}

}  // namespace expc::analysis
