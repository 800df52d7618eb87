// Index: a trial is added, and the counts follow; how long trials take and may take, and how failures are met.

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <tuple>

#include "runtime/base/entry.h"
#include "runtime/base/find.h"
#include "runtime/judge/block_values.h"
#include "runtime/judge/index.h"
#include "runtime/plan/command.h"
#include "runtime/plan/evaluate.h"

namespace expc::judge {
namespace {

constexpr double kNoValue = NAN;

/// Later in this order decides what a block's outcome is; 0: no outcome.
int weight(TrialStatus status) {
  static constexpr TrialStatus kRising[] = {TrialStatus::Invalid, TrialStatus::Failed, TrialStatus::Infeasible,
                                            TrialStatus::Timeout, TrialStatus::Valid};
  const auto found = std::ranges::find(kRising, status);
  return found == std::end(kRising) ? 0 : 1 + int(found - std::begin(kRising));
}

bool decides(const Trial& trial, const Outcome& over) {
  return std::tuple(weight(trial.status), trial.attempt, trial.id) >
         std::tuple(weight(over.status), over.attempt, over.trial);
}

/// Adds an outcome to the counts of its place, or takes it away.
void count(PlaceOutcomes& place, const Outcome& outcome, int times) {
  place.valid += times * outcome.valid();
  place.ended += times * outcome.ended();
  place.tried += times * outcome.tried();
  place.superseded += times * outcome.superseded;
}

/// NaN stands for no value there, so that a number that is none, which diverged, stands as infinity.
double orDiverged(double measured) { return std::isnan(measured) ? INFINITY : measured; }

/// The first of `least`, twice that, … that is not below `wanted`: limits that follow durations move seldom, and a
/// timeout goes on counting until its limit would be twice as large.
double stepped(double least, double wanted) {
  while (least < wanted) least *= 2;
  return least;
}

/// Makes room for the values of a place that gets its first trial: few kinds have trials of all places.
void makeRoom(PlaceOutcomes& place, size_t columns) {
  place.values.resize(columns);
  place.series.resize(columns);
  place.not_on_device.resize(columns);
  place.measured.resize(columns);
}

/// The median of the points' medians.
std::optional<double> overall(const std::vector<stats::RunningMedian>& seconds) {
  stats::RunningMedian medians;
  for (const stats::RunningMedian& one : seconds)
    if (const std::optional<double> median = one.median()) medians.add(*median);
  return medians.median();
}

}  // namespace

void Tally::add(TrialStatus status) {
  ++trials;
  valid += status == TrialStatus::Valid;
  failed += status == TrialStatus::Failed;
  timeouts += status == TrialStatus::Timeout;
  infeasible += status == TrialStatus::Infeasible;
  invalid += status == TrialStatus::Invalid;
}

bool Index::add(const Trial& trial) {
  if (weight(trial.status) == 0) return false;
  const std::optional<unsigned> known = number(trial.place());
  if (!known || !seen_.insert(trial.id).second) return false;
  State& own = state(trial.key->kind);
  PlaceOutcomes& place = own.places[*known];
  widths_ = {};
  decided_ = {};
  const std::string* reason = &*reasons_.insert(trial.status == TrialStatus::Valid ? "" : trial.reason).first;
  tally_.add(trial.status);
  spent_seconds_ += std::max(0.0, trial.seconds);
  null_cards_ = null_cards_ || trial.onNullCards();
  const bool lost = trial.status == TrialStatus::Failed || trial.status == TrialStatus::Invalid;
  ++(lost ? own.failed : trial.status == TrialStatus::Timeout ? own.timeouts : own.ended_otherwise);
  place.nodes = std::max(place.nodes, trial.nodes);
  makeRoom(place, columns_.size());
  noteDevice(place, trial, nullptr);
  noteFailure(*known, place, trial, reason);
  merge(own, *known, trial, reason, nullptr);
  for (const unsigned row : rowsOf(*known)) addRow(own, row, trial, reason);
  noteSeconds(trial.key->kind, *known, trial);
  return true;
}

void Index::addRow(State& own, unsigned number, const Trial& trial, const std::string* reason) {
  static const store::Values kNone;
  PlaceOutcomes& place = own.places[number];
  const Point& point = *places_[number].point;
  const auto& command = plan_.workloads[point.workload].command;
  const store::Values* row = command ? entryOf(trial.rows, plan::rowKey(*command, point.parameters)) : nullptr;
  if (!row) row = &kNone;
  place.nodes = std::max(place.nodes, trial.nodes);
  makeRoom(place, columns_.size());
  noteDevice(place, trial, row);
  noteFailure(number, place, trial, reason);
  merge(own, number, trial, reason, row);
  noteGiven(place, trial);
}

void Index::noteDevice(PlaceOutcomes& place, const Trial& trial, const store::Values* row) {
  for (const store::Values* values : {static_cast<const store::Values*>(&trial), row}) {
    if (!values) continue;
    lacks_on_device_ = lacks_on_device_ || !values->not_on_device.empty();
    for (const std::string& name : values->not_on_device)
      if (const auto found = column(name)) place.not_on_device[*found] = not_on_device_[*found] = true;
    for (const auto& [name, number] : columns_) {
      const auto value = valueIn(values->metrics, name);
      if (value && isUncounted(plan_, name, *value))
        place.not_on_device[number] = not_on_device_[number] = lacks_on_device_ = true;
      else if (value || values->series.contains(name))
        place.measured[number] = measured_[number] = true;
    }
  }
  // The output has no row of these levels.
  const bool missing = row && trial.status == TrialStatus::Valid && row->metrics.empty() && row->series.empty();
  for (const auto& [name, number] : columns_)
    if (missing && !trial.Values::tellsOf(name)) place.not_on_device[number] = lacks_on_device_ = true;
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
  // A disturbed trial says nothing of the place itself.
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
  const auto position = std::ranges::upper_bound(place.outcomes, std::pair(block, session), {}, &Outcome::where);
  const ptrdiff_t at = position - place.outcomes.begin();
  Outcome outcome{.block = block, .session = session};
  outcome.superseded = true;  // nothing yet: it counts for nothing
  place.outcomes.insert(position, outcome);
  ++place.superseded;
  for (auto& column : place.values) column.insert(column.begin() + at, kNoValue);
  for (auto& column : place.series)
    if (!column.empty()) column.insert(column.begin() + at, nullptr);
  return size_t(at);
}

/// Puts the trial into its block's outcome and brings the counts of the place and its groups up to date.
void Index::merge(State& own, unsigned number, const Trial& trial, const std::string* reason,
                  const store::Values* row) {
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
    keepValues(place, at, trial, row);
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
      return std::ranges::all_of(group.places,
                                 [&](unsigned member) { return member == number || holds(own.places[member]); });
    };
    if (tried != was_tried && others([&](const PlaceOutcomes& other) { return other.triedIn(outcome.block); }))
      group.tried += tried ? 1 : -1;
    if (ended != had_ended &&
        others([&](const PlaceOutcomes& other) { return other.endedIn(outcome.block, outcome.session); }))
      group.complete += ended ? 1 : -1;
  }
}

void Index::keepValues(PlaceOutcomes& place, size_t at, const Trial& trial, const store::Values* row) {
  for (const auto& [name, number] : columns_) {
    double& value = place.values[number][at];
    value = kNoValue;
    auto& column = place.series[number];
    if (!column.empty()) column[at] = nullptr;
    const store::Values& said = row && row->tellsOf(name) ? *row : trial;
    if (const auto* series = entryOf(said.series, name)) {
      column.resize(place.outcomes.size());
      column[at] = std::make_shared<const std::vector<double>>(*series);
      if (!series->empty()) value = orDiverged(series->back());
    } else if (const auto* metric = entryOf(said.metrics, name); metric && !isUncounted(plan_, name, *metric)) {
      value = orDiverged(*metric);
    }
  }
}

double Index::limit(TrialKind kind, const std::string& id) const {
  if (const unsigned* number = entryOf(points_, id)) return limit(kind, *number);
  return policy_ && policy_->timeout ? *policy_->timeout : kDefaultTimeoutSeconds;
}

double Index::limit(TrialKind kind, unsigned number) const {
  if (policy_ && policy_->timeout) return *policy_->timeout;
  if (const KindDesign* designed = plan::designOf(plan_, kind); designed && designed->timeout_seconds)
    return *designed->timeout_seconds;
  const Numbered& point = places_[number];
  const unsigned workload = point.point->workload;
  if (workload < plan_.workloads.size()) {
    const std::optional<plan::Command>& command = plan_.workloads[workload].command;
    if (command && command->timeout_seconds) return *command->timeout_seconds;
  }
  const State& own = state(kind);
  const double longest = own.longest[point.unit];
  return longest > 0 ? stepped(kLeastTimeoutSeconds, kTimeoutFactor * longest)
                     : stepped(kDefaultTimeoutSeconds, kTimeoutFactor * own.longest_of_any);
}

/// The one rule of which timeouts count: those whose limit was at least this. In a run it is what a trial of the place
/// would be given now. Where nothing runs it is what the newest trial was given; and a valid trial that took longer
/// shows that a shorter timeout says nothing.
double Index::leastLimit(TrialKind kind, unsigned number) const {
  if (policy_) return limit(kind, number);
  const State& own = state(kind);
  return std::max(own.places[number].given, own.within[places_[number].unit]);
}

void Index::noteSeconds(TrialKind kind, unsigned number, const Trial& trial) {
  State& own = state(kind);
  const unsigned unit = places_[number].unit;
  // Limits matter to timeouts alone. The first is that of the place, whose rows are given the same; the second moves
  // those of all places of its unit; the third is that of units that were never measured.
  const auto limits = [&]() -> std::array<double, 3> {
    if (own.timeouts == 0) return {};
    return {leastLimit(kind, number), policy_ ? limit(kind, number) : own.within[unit],
            stepped(kDefaultTimeoutSeconds, kTimeoutFactor * own.longest_of_any)};
  };
  const auto before = limits();
  noteGiven(own.places[number], trial);
  if (trial.status == TrialStatus::Valid && std::isfinite(trial.seconds)) noteValid(kind, number, trial);
  const auto now = limits();
  for (unsigned other = 0; now != before && other < places_.size(); ++other)
    if (places_[other].unit == unit || now[2] != before[2]) settleTimeouts(kind, other);
}

/// Notes how long a trial could take at most.
void Index::noteGiven(PlaceOutcomes& place, const Trial& trial) {
  if (trial.status == TrialStatus::Timeout) place.limit = std::max(place.limit, limitMet(trial));
  const double given = trial.status == TrialStatus::Timeout ? limitMet(trial) : trial.limit;
  if (given <= 0 || trial.id <= place.last_given) return;
  place.last_given = trial.id;
  place.given = given;
}

/// Notes how long a valid trial took.
void Index::noteValid(TrialKind kind, unsigned number, const Trial& trial) {
  State& own = state(kind);
  const unsigned point = places_[number].unit;
  own.seconds[point].add(trial.seconds);
  own.longest[point] = std::max(own.longest[point], trial.seconds);
  own.longest_of_any = std::max(own.longest_of_any, trial.seconds);
  // A trial whose end was seen late took no longer than it was allowed to.
  own.within[point] =
      std::max(own.within[point], trial.limit > 0 ? std::min(trial.seconds, trial.limit) : trial.seconds);
}

void Index::settleTimeouts(TrialKind kind, unsigned number) {
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
  const auto count = [&](auto holds) { return unsigned(std::ranges::count_if(place.outcomes, std::mem_fn(holds))); };
  place.valid = count(&Outcome::valid);
  place.ended = count(&Outcome::ended);
  place.tried = count(&Outcome::tried);
  place.superseded = count(&Outcome::superseded);
  for (const unsigned group : own.groups_of[number]) recount(own, own.groups[group]);
}

void Index::recount(State& own, Group& group) {
  group.complete = group.tried = 0;
  const auto all = [&](auto holds) {
    return std::ranges::all_of(group.places, [&](unsigned member) { return holds(own.places[member]); });
  };
  std::optional<int64_t> before;
  for (const Outcome& outcome : own.places[group.places.front()].outcomes) {
    if (before != outcome.block)
      group.tried += all([&](const PlaceOutcomes& member) { return member.triedIn(outcome.block); });
    before = outcome.block;
    group.complete += all([&](const PlaceOutcomes& member) { return member.endedIn(outcome.block, outcome.session); });
  }
}

std::optional<double> Index::typicalSeconds(TrialKind kind, const std::string& id) const {
  const State& own = state(kind);
  const auto found = points_.find(id);
  const std::optional<double> median =
      found == points_.end() ? std::nullopt : own.seconds[places_[found->second].unit].median();
  return median ? median : overall(own.seconds);
}

std::optional<double> Index::typicalSeconds(TrialKind kind) const {
  const State& own = state(kind);
  const std::optional<double> others = overall(own.seconds);
  if (!others) return std::nullopt;
  double sum = 0;
  unsigned count = 0;
  for (const Numbered& place : places_) {
    if (!place.place.control.empty() || &place != &places_[place.starts] || !place.point->startable()) continue;
    sum += own.seconds[place.unit].median().value_or(*others);
    ++count;
  }
  return count == 0 ? std::nullopt : std::optional(sum / count);
}

std::vector<Failure> Index::givenUp() const {
  std::vector<Failure> failures;
  for (const State& own : states_) {
    const auto kind = static_cast<TrialKind>(&own - states_.data());
    for (unsigned number = 0; number < places_.size(); ++number) {
      const PlaceOutcomes& place = own.places[number];
      if (starts(number) == number && givenUp(kind, number))
        failures.push_back({kind, places_[number].place, place.failed_in_a_row, *place.said});
    }
  }
  return failures;
}

bool Index::failedAsBefore(const Trial& trial) const {
  const std::optional<unsigned> known = number(trial.place());
  if (!known || trial.status != TrialStatus::Failed) return false;
  const std::string* said = of(trial.key->kind, *known).said;
  return said && withoutIds(*said) == withoutIds(trial.reason);
}

bool Index::onlyLost(TrialKind kind) const {
  const State& own = state(kind);
  if (own.ended_otherwise > 0 || own.timeouts == 0) return own.ended_otherwise == 0 && own.failed > 0;
  return own.timeouts >= kTimeoutBlocks && std::ranges::none_of(plan_.criteria, [&](const Criterion& criterion) {
           return std::ranges::any_of(
               criterion.cells, [&](const plan::Cell& cell) { return cell.kind == kind && !plan::isPaired(cell); });
         });
}

}  // namespace expc::judge
