// Index: a trial is added, and the counts follow.

#include <algorithm>
#include <iterator>
#include <limits>
#include <tuple>

#include "runtime/analysis/index.h"

namespace expc::analysis {
namespace {

using store::Trial;
using store::TrialStatus;

constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

/// Later in this order decides what a block's outcome is; 0: no outcome.
int weight(TrialStatus status) {
  static constexpr TrialStatus kRising[] = {TrialStatus::Invalid, TrialStatus::Failed, TrialStatus::Infeasible,
                                            TrialStatus::Timeout, TrialStatus::Valid};
  const auto found = std::ranges::find(kRising, status);
  return found == std::end(kRising) ? 0 : 1 + static_cast<int>(found - std::begin(kRising));
}

bool decides(const Trial& trial, const Outcome& over) {
  return std::tuple(weight(trial.status), trial.attempt, trial.id) >
         std::tuple(weight(over.status), over.attempt, over.trial);
}

void count(Tally& tally, TrialStatus status) {
  ++tally.trials;
  tally.valid += status == TrialStatus::Valid;
  tally.failed += status == TrialStatus::Failed;
  tally.timeouts += status == TrialStatus::Timeout;
  tally.infeasible += status == TrialStatus::Infeasible;
  tally.invalid += status == TrialStatus::Invalid;
}

/// Adds an outcome to the counts of its place, or takes it away.
void count(PlaceOutcomes& place, const Outcome& outcome, int times) {
  place.valid += times * outcome.valid();
  place.ended += times * outcome.ended();
  place.tried += times * outcome.tried();
  place.superseded += times * outcome.superseded;
}

}  // namespace

bool Index::add(const Trial& trial) {
  if (weight(trial.status) == 0) return false;
  const std::optional<unsigned> known = number(trial.place());
  if (!known || !seen_.insert(trial.id).second) return false;
  State& own = state(trial.key->kind);
  PlaceOutcomes& place = own.places[*known];
  widths_ = {};
  decided_ = {};
  const std::string* reason = &*reasons_.insert(trial.status == TrialStatus::Valid ? "" : trial.reason).first;
  count(tally_, trial.status);
  spent_seconds_ += std::max(0.0, trial.seconds);
  null_cards_ = null_cards_ || trial.onNullCards();
  const bool lost = trial.status == TrialStatus::Failed || trial.status == TrialStatus::Invalid;
  ++(lost ? own.failed : own.ended_otherwise);
  place.nodes = std::max(place.nodes, trial.nodes());
  noteDevice(place, trial);
  noteFailure(*known, place, trial, reason);
  merge(own, *known, trial, reason);
  noteSeconds(trial.key->kind, *known, trial);
  return true;
}

void Index::noteDevice(PlaceOutcomes& place, const Trial& trial) {
  lacks_on_device_ = lacks_on_device_ || !trial.not_on_device.empty();
  for (const std::string& name : trial.not_on_device)
    if (const auto found = column(name)) place.not_on_device[*found] = not_on_device_[*found] = true;
  for (const auto& [name, number] : columns_)
    if (trial.metrics.count(name) || trial.series.count(name)) place.measured[number] = measured_[number] = true;
}

void Index::noteFailure(unsigned number, PlaceOutcomes& place, const Trial& trial, const std::string* reason) {
  place.failed += trial.status == TrialStatus::Failed;
  place.timeouts += trial.status == TrialStatus::Timeout;
  place.invalid += trial.status == TrialStatus::Invalid;
  if (trial.status != TrialStatus::Valid && trial.id >= place.last_lost) {
    place.last_lost = trial.id;
    place.last_reason = trial.reason;
  }
  if (trial.status == TrialStatus::Infeasible && trial.id >= place.last_memory) {
    place.last_memory = trial.id;
    place.memory_reason = trial.reason;
  }
  // What was disturbed says nothing of the place itself.
  if (!policy_ || trial.status == TrialStatus::Invalid) return;
  if (trial.status != TrialStatus::Failed) {
    place.failed_in_a_row = 0;
    return;
  }
  ++place.failed_in_a_row;
  place.said = reason;
  if (!failed_for_good_ && trial.attempt >= policy_->attempts)
    failed_for_good_ = Failure{trial.key->kind, places_[number].place, trial.attempt, trial.reason};
}

/// The outcome of a block and session, made with nothing in it where there is none.
size_t Index::outcomeOf(PlaceOutcomes& place, int64_t block, int64_t session) {
  if (const std::optional<size_t> found = place.find(block, session)) return *found;
  const auto position =
      std::upper_bound(place.outcomes.begin(), place.outcomes.end(), std::pair(block, session),
                       [](const auto& a, const Outcome& b) { return a < std::pair(b.block, b.session); });
  const ptrdiff_t at = position - place.outcomes.begin();
  Outcome outcome{.block = block, .session = session};
  outcome.superseded = true;  // nothing yet: it counts for nothing
  place.outcomes.insert(position, outcome);
  ++place.superseded;
  for (auto& column : place.values) column.insert(column.begin() + at, kNoValue);
  for (auto& column : place.series)
    if (!column.empty()) column.insert(column.begin() + at, nullptr);
  return static_cast<size_t>(at);
}

/// Puts the trial into its block's outcome and brings the counts of the place and its groups up to date.
void Index::merge(State& own, unsigned number, const Trial& trial, const std::string* reason) {
  PlaceOutcomes& place = own.places[number];
  const bool was_tried = place.triedIn(trial.block), had_ended = place.endedIn(trial.block, trial.session);
  if (trial.status == TrialStatus::Infeasible && !place.anyIn(trial.block, &Outcome::out_of_memory)) ++place.infeasible;
  const size_t at = outcomeOf(place, trial.block, trial.session);
  Outcome& outcome = place.outcomes[at];
  count(place, outcome, -1);
  outcome.out_of_memory = outcome.out_of_memory || trial.status == TrialStatus::Infeasible;
  if (outcome.trial == 0 || decides(trial, outcome)) {
    outcome.trial = trial.id;
    outcome.run = trial.run;
    outcome.attempt = trial.attempt;
    outcome.status = trial.status;
    outcome.reason = reason;
    outcome.limit = trial.status == TrialStatus::Timeout ? limitMet(trial) : 0;
    outcome.superseded = trial.status == TrialStatus::Timeout && outcome.limit < leastLimit(trial.key->kind, number);
    keepValues(place, at, trial);
  }
  // The next run tries again what was disturbed.
  outcome.forgiven = !policy_ && outcome.status == TrialStatus::Invalid;
  count(place, outcome, 1);
  countGroups(own, number, outcome, was_tried, had_ended);
}

/// Brings the counts of the groups of a place up to date with what has become of its block. A later attempt may also
/// take something away: a timeout under a limit that is larger now.
void Index::countGroups(State& own, unsigned number, const Outcome& outcome, bool was_tried, bool had_ended) {
  const bool tried = own.places[number].triedIn(outcome.block), ended = outcome.ended();
  if (tried == was_tried && ended == had_ended) return;
  for (const unsigned index : own.groups_of[number]) {
    Group& group = own.groups[index];
    const auto others = [&](auto holds) {
      return std::all_of(group.places.begin(), group.places.end(),
                         [&](unsigned member) { return member == number || holds(own.places[member]); });
    };
    if (tried != was_tried && others([&](const PlaceOutcomes& other) { return other.triedIn(outcome.block); }))
      group.tried += tried ? 1 : -1;
    if (ended != had_ended &&
        others([&](const PlaceOutcomes& other) { return other.endedIn(outcome.block, outcome.session); }))
      group.complete += ended ? 1 : -1;
  }
}

void Index::keepValues(PlaceOutcomes& place, size_t at, const Trial& trial) {
  for (const auto& [name, number] : columns_) {
    double& value = place.values[number][at];
    value = kNoValue;
    auto& column = place.series[number];
    if (!column.empty()) column[at] = nullptr;
    if (const auto series = trial.series.find(name); series != trial.series.end()) {
      column.resize(place.outcomes.size());
      column[at] = std::make_shared<const std::vector<double>>(series->second);
      if (!series->second.empty()) value = series->second.back();
    } else if (const auto metric = trial.metrics.find(name); metric != trial.metrics.end()) {
      value = metric->second;
    }
  }
}

}  // namespace expc::analysis
