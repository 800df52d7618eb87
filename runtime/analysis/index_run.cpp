// Index: how long trials take and may take, and how failures are met.

#include <algorithm>
#include <cmath>
#include <functional>

#include "runtime/analysis/index.h"
#include "runtime/plan/find.h"

namespace expc::analysis {
namespace {

using store::TrialStatus;

/// The first of `least`, twice that, … that is not below `wanted`: limits that follow durations move seldom, and a
/// timeout goes on counting until its limit would be twice as large.
double stepped(double least, double wanted) {
  while (least < wanted) least *= 2;
  return least;
}

}  // namespace

double Index::limit(plan::TrialKind kind, const std::string& id) const {
  if (policy_ && policy_->timeout) return *policy_->timeout;
  const auto found = points_.find(id);
  if (found == points_.end()) return kDefaultTimeoutSeconds;
  if (const plan::KindDesign* designed = plan::designOf(plan_, kind); designed && designed->timeout_seconds)
    return *designed->timeout_seconds;
  const unsigned workload = plan_.points[found->second].workload;
  if (workload < plan_.workloads.size()) {
    const std::optional<plan::Command>& command = plan_.workloads[workload].command;
    if (command && command->timeout_seconds) return *command->timeout_seconds;
  }
  const State& own = state(kind);
  const double longest = own.longest[found->second];
  return longest > 0 ? stepped(kLeastTimeoutSeconds, kTimeoutFactor * longest)
                     : stepped(kDefaultTimeoutSeconds, kTimeoutFactor * own.longest_of_any);
}

/// The one rule of which timeouts count: those whose limit was at least this. In a run it is what a trial of the place
/// would be given now. Where nothing runs it is what the newest trial was given; and a valid trial that took longer
/// shows that a shorter timeout says nothing.
double Index::leastLimit(plan::TrialKind kind, unsigned number) const {
  if (policy_) return limit(kind, places_[number].place.point);
  const State& own = state(kind);
  return std::max(own.places[number].given, own.within[places_[number].point]);
}

void Index::noteSeconds(plan::TrialKind kind, unsigned number, const store::Trial& trial) {
  State& own = state(kind);
  PlaceOutcomes& place = own.places[number];
  const double least = leastLimit(kind, number);
  if (trial.status == TrialStatus::Timeout) place.limit = std::max(place.limit, limitMet(trial));
  if (const double given = trial.status == TrialStatus::Timeout ? limitMet(trial) : trial.limit;
      given > 0 && trial.id > place.last_given) {
    place.last_given = trial.id;
    place.given = given;
  }
  if (trial.status == TrialStatus::Valid) noteValid(kind, number, trial);
  if (least != leastLimit(kind, number)) settleTimeouts(kind, number);
}

/// Of a valid trial, whose length may move the limits of its point and of points that were never measured.
void Index::noteValid(plan::TrialKind kind, unsigned number, const store::Trial& trial) {
  State& own = state(kind);
  const unsigned point = places_[number].point;
  if (!std::isfinite(trial.seconds)) return;
  const auto others = [&] { return stepped(kDefaultTimeoutSeconds, kTimeoutFactor * own.longest_of_any); };
  const double least = leastLimit(kind, number), least_of_others = others();
  own.seconds[point].add(trial.seconds);
  own.longest[point] = std::max(own.longest[point], trial.seconds);
  own.longest_of_any = std::max(own.longest_of_any, trial.seconds);
  // A trial whose end was seen late took no longer than it was allowed to.
  own.within[point] =
      std::max(own.within[point], trial.limit > 0 ? std::min(trial.seconds, trial.limit) : trial.seconds);
  const bool moved = least != leastLimit(kind, number), moved_others = least_of_others != others();
  for (unsigned other = 0; (moved || moved_others) && other < places_.size(); ++other)
    if (moved_others || places_[other].point == point) settleTimeouts(kind, other);
}

void Index::settleTimeouts(plan::TrialKind kind, unsigned number) {
  State& own = state(kind);
  PlaceOutcomes& place = own.places[number];
  if (place.timeouts == 0) return;
  const double least = leastLimit(kind, number);
  bool changed = false;
  for (Outcome& outcome : place.outcomes) {
    const bool superseded = outcome.status == TrialStatus::Timeout && outcome.limit < least;
    changed = changed || superseded != outcome.superseded;
    outcome.superseded = superseded;
  }
  if (changed) recount(own, number);
}

void Index::recount(State& own, unsigned number) {
  PlaceOutcomes& place = own.places[number];
  const auto count = [&](auto holds) {
    return static_cast<unsigned>(std::ranges::count_if(place.outcomes, std::mem_fn(holds)));
  };
  place.valid = count(&Outcome::valid);
  place.ended = count(&Outcome::ended);
  place.tried = count(&Outcome::tried);
  place.superseded = count(&Outcome::superseded);
  for (const unsigned group : own.groups_of[number]) recount(own, own.groups[group]);
}

void Index::recount(State& own, Group& group) {
  group.complete = group.tried = 0;
  const auto all = [&](auto holds) {
    return std::all_of(group.places.begin(), group.places.end(),
                       [&](unsigned member) { return holds(own.places[member]); });
  };
  std::optional<int64_t> before;
  for (const Outcome& outcome : own.places[group.places.front()].outcomes) {
    if (before != outcome.block)
      group.tried += all([&](const PlaceOutcomes& member) { return member.triedIn(outcome.block); });
    before = outcome.block;
    group.complete += all([&](const PlaceOutcomes& member) { return member.endedIn(outcome.block, outcome.session); });
  }
}

std::optional<double> Index::longest(plan::TrialKind kind, const std::string& id) const {
  const auto found = points_.find(id);
  if (found == points_.end() || state(kind).seconds[found->second].size() == 0) return std::nullopt;
  return state(kind).longest[found->second];
}

std::optional<double> Index::longest(plan::TrialKind kind) const {
  const State& own = state(kind);
  const bool any = std::any_of(own.seconds.begin(), own.seconds.end(), [](const auto& one) { return one.size() > 0; });
  return any ? std::optional(own.longest_of_any) : std::nullopt;
}

namespace {

/// The median of the points' medians.
std::optional<double> overall(const std::vector<stats::RunningMedian>& seconds) {
  std::vector<double> medians;
  for (const stats::RunningMedian& one : seconds)
    if (const std::optional<double> median = one.median()) medians.push_back(*median);
  return stats::medianOf(medians);
}

}  // namespace

std::optional<double> Index::typicalSeconds(plan::TrialKind kind, const std::string& id) const {
  const State& own = state(kind);
  const auto found = points_.find(id);
  const std::optional<double> median = found == points_.end() ? std::nullopt : own.seconds[found->second].median();
  return median ? median : overall(own.seconds);
}

std::optional<double> Index::typicalSeconds(plan::TrialKind kind) const {
  const State& own = state(kind);
  const std::optional<double> others = overall(own.seconds);
  if (!others) return std::nullopt;
  double sum = 0;
  unsigned count = 0;
  for (size_t i = 0; i < plan_.points.size(); ++i) {
    if (!plan_.points[i].startable()) continue;
    sum += own.seconds[i].median().value_or(*others);
    ++count;
  }
  return count == 0 ? std::nullopt : std::optional(sum / count);
}

std::vector<Failure> Index::givenUp() const {
  std::vector<Failure> failures;
  for (const State& own : states_) {
    const auto kind = static_cast<plan::TrialKind>(&own - states_.data());
    for (unsigned number = 0; number < places_.size(); ++number) {
      const PlaceOutcomes& place = own.places[number];
      if (givenUp(kind, number)) failures.push_back({kind, places_[number].place, place.failed_in_a_row, *place.said});
    }
  }
  return failures;
}

bool Index::failedAsBefore(const store::Trial& trial) const {
  const std::optional<unsigned> known = number(trial.place());
  if (!known || trial.status != TrialStatus::Failed) return false;
  const std::string* said = of(trial.key->kind, *known).said;
  return said && *said == trial.reason;
}

bool Index::onlyFailed(plan::TrialKind kind) const {
  return state(kind).failed > 0 && state(kind).ended_otherwise == 0;
}

}  // namespace expc::analysis
