#include "runtime/judge/index.h"

#include <llvm/ADT/SmallVector.h>

#include <algorithm>
#include <utility>

#include "runtime/base/entry.h"
#include "runtime/base/find.h"
#include "runtime/base/llvm.h"
#include "runtime/plan/evaluate.h"
#include "runtime/stats/design.h"

namespace expc::judge {
namespace {

std::set<std::string> metricsOfUntils(const Plan& plan) {
  std::set<std::string> names;
  const auto add = [&](const plan::Term& term) {
    for (const MetricTerm& read : measuredTerms(plan, term)) names.insert(read.metric);
  };
  for (const KindDesign& design : plan.design.kinds)
    for (const plan::Until& until : design.until) {
      if (plan.findMetric(until.subject)) add({MetricTerm{until.subject, ""}});
      if (const Comparison* comparison = base::named(plan.comparisons, until.subject))
        for (const plan::Cell& cell : comparison->cells) add(*cell.term);
    }
  return names;
}

bool plansLooks(const Plan& plan) {
  return std::ranges::any_of(plan.design.kinds, [](const KindDesign& design) { return !design.looks.empty(); });
}

}  // namespace

std::optional<size_t> PlaceOutcomes::find(int64_t block, int64_t session) const {
  const auto found = std::ranges::lower_bound(outcomes, std::pair(block, session), {}, &Outcome::where);
  if (found == outcomes.end() || found->block != block || found->session != session) return std::nullopt;
  return size_t(found - outcomes.begin());
}

std::vector<Outcome>::const_iterator PlaceOutcomes::firstOf(int64_t block) const {
  // Blocks are mostly asked for in the order in which they were added.
  if (outcomes.empty() || outcomes.back().block < block) return outcomes.end();
  return std::ranges::lower_bound(outcomes, block, {}, &Outcome::block);
}

bool PlaceOutcomes::endedIn(int64_t block, int64_t session) const {
  const std::optional<size_t> found = find(block, session);
  return found && outcomes[*found].ended();
}

Index::Index(const Plan& plan, Keep keep) : plan_(plan) {
  addPlaces();
  chooseColumns(keep);
  for (const KindDesign& design : plan.design.kinds) addGroups(design.kind);
  clear();
}

Index::Index(const Plan& plan, const Results& results, Keep keep) : Index(plan, keep) {
  for (const store::Session& session : results.sessions) add(session);
  for (const Trial& trial : results.trials) add(trial);
  for (const store::PastLook& look : results.looks) add(look);
}

bool isUncounted(const Plan& plan, std::string_view name, double value) {
  const Metric* metric = value == 0 ? plan.findMetric(name) : nullptr;
  const bool counts = metric && !metric->derived && metric->kind != TrialKind::Profile &&
                      (metric->unit == "B" || metric->name == "cpu_time");
  return counts && !plan.readsInOutput(metric->name);
}

/// The number of a place, which is added unless it is there.
unsigned Index::addPlace(Place place, const Point& point, unsigned unit) {
  const auto number = unsigned(places_.size());
  const auto [at, fresh] = numbers_.try_emplace(place, number);
  if (fresh) places_.push_back({std::move(place), &point, unit, number});
  return at->second;
}

void Index::addPlaces() {
  const auto start = [&](unsigned row, unsigned process) {
    places_[row].starts = process;
    places_[row].unit = places_[process].unit;
    places_[process].rows.push_back(row);
  };
  for (const Point& point : plan_.points)
    if (!points_.contains(point.id)) points_[point.id] = addPlace({point.id}, point, unsigned(units_++));
  for (const Plan::Process& process : plan_.processes()) {
    if (points_.contains(process.whole.id)) continue;
    const unsigned number = addPlace({process.whole.id}, process.whole, unsigned(units_++));
    points_[process.whole.id] = number;
    for (const unsigned row : process.rows) start(points_.at(plan_.points[row].id), number);
  }
  for (const plan::Control& control : plan_.controls) {
    const auto found = points_.find(control.point);
    const Place place(control.point, control.name);
    if (found == points_.end() || numbers_.contains(place)) continue;
    const unsigned point = found->second, started = starts(point);
    const unsigned number = addPlace(place, *places_[point].point, places_[point].unit);
    if (started != point)
      start(number,
            addPlace({places_[started].place.point, control.name}, *places_[started].point, places_[started].unit));
  }
}

void Index::add(store::PastLook look) {
  looks_.push_back(std::move(look));
  decided_ = {};
}

bool Index::decided(TrialKind kind, function_ref<bool()> find) const {
  std::optional<bool>& known = decided_[size_t(kind)];
  if (!known) known = find();
  return *known;
}

void Index::chooseColumns(Keep keep) {
  std::set<std::string> names;
  if (keep == Keep::ForRun && !plansLooks(plan_)) {
    names = metricsOfUntils(plan_);
  } else {
    for (const Metric& metric : plan_.metrics)
      if (!metric.derived) names.insert(metric.name);
  }
  for (const std::string& name : names) columns_.emplace(name, unsigned(columns_.size()));
}

void Index::addGroups(TrialKind kind) {
  State& own = state(kind);
  std::map<std::vector<unsigned>, unsigned> known;
  own.groups_of.resize(places_.size());
  const auto add = [&](const std::vector<Place>& places) {
    std::set<unsigned> members;
    for (const Place& place : places) {
      const std::optional<unsigned> member = number(place);
      if (!member || !runs(kind, *member)) return;
      members.insert(*member);
    }
    std::vector<unsigned> sorted(members.begin(), members.end());
    if (sorted.size() < 2 || !known.try_emplace(sorted, unsigned(own.groups.size())).second) return;
    for (const unsigned member : sorted) own.groups_of[member].push_back(unsigned(own.groups.size()));
    own.groups.push_back({std::move(sorted), 0, 0});
  };
  const auto addCells = [&](const std::vector<plan::Cell>& cells) {
    for (const plan::Cell& cell : cells)
      if (cell.kind == kind) add(cell.points);
  };
  for (const plan::Control& control : plan_.controls) add({control.point, {control.point, control.name}});
  for (const Comparison& comparison : plan_.comparisons) addCells(comparison.cells);
  for (const Criterion& criterion : plan_.criteria) addCells(criterion.cells);
}

/// Forgets every trial.
void Index::clear() {
  for (State& own : states_) {
    own.places.assign(places_.size(), {});
    for (unsigned number = 0; number < places_.size(); ++number)
      own.places[number].parameters = &places_[number].point->parameters;
    for (Group& group : own.groups) group.complete = group.tried = 0;
    own.groups_of.resize(places_.size());
    own.seconds.assign(units_, {});
    own.longest.assign(units_, 0);
    own.within.assign(units_, 0);
    own.longest_of_any = 0;
    own.failed = own.timeouts = own.ended_otherwise = 0;
  }
  not_on_device_.assign(columns_.size(), false);
  measured_.assign(columns_.size(), false);
  seen_.clear();
  tally_ = {};
  spent_seconds_ = 0;
  null_cards_ = false;
}

void Index::startRun(RunPolicy policy) {
  policy_ = std::move(policy);
  widths_ = {};
  decided_ = {};
  failed_for_good_.reset();
  if (policy_->fresh) clear();
  for (State& own : states_) {
    const auto kind = static_cast<TrialKind>(&own - states_.data());
    for (unsigned number = 0; number < places_.size(); ++number) {
      PlaceOutcomes& place = own.places[number];
      place.failed_in_a_row = 0;
      place.said = nullptr;
      for (Outcome& outcome : place.outcomes) {
        outcome.superseded = outcome.status == TrialStatus::Timeout && outcome.limit < leastLimit(kind, number);
        outcome.forgiven = outcome.status == TrialStatus::Invalid || (policy_->retry_failed && !outcome.ended());
      }
      if (policy_->retry_failed) place.forgiven_infeasible = place.infeasible;
    }
    for (unsigned number = 0; number < places_.size(); ++number) recount(own, number);
  }
}

void Index::add(const store::Session& session) { nodes_[session.id] = session.where.nodes; }

const PlaceOutcomes& Index::of(TrialKind kind, const Place& place) const {
  static const PlaceOutcomes none;
  const std::optional<unsigned> known = number(place);
  return known ? of(kind, *known) : none;
}

const Point* Index::point(const std::string& id) const {
  const unsigned* found = entryOf(points_, id);
  return found ? places_[*found].point : nullptr;
}

std::set<std::string> Index::nodes(const plan::Cell& cell, const std::set<int64_t>& sessions) const {
  size_t used = 1;  // a trial takes the first nodes of its group
  for (const Place& place : cell.points) used = std::max<size_t>(used, of(cell.kind, place).nodes);
  std::set<std::string> names;
  for (const int64_t session : sessions) {
    if (const auto* found = entryOf(nodes_, session))
      names.insert(found->begin(), found->begin() + std::min(used, found->size()));
    else
      names.insert("session " + std::to_string(session));
  }
  return names;
}

std::optional<unsigned> Index::number(const Place& place) const { return valueIn(numbers_, place); }

bool Index::runs(TrialKind kind, unsigned number) const {
  return places_[number].place.control.empty() || hasControls(plan_, kind);
}

bool Index::settled(TrialKind kind, const PlaceOutcomes& place) const {
  if (place.infeasible - place.forgiven_infeasible >= kInfeasibleBlocks) return true;
  if (place.valid > 0 || place.ended < kTimeoutBlocks) return false;
  const KindDesign* design = plan::designOf(plan_, kind);
  // Looks and `until` need more blocks than one interval at the claim's confidence.
  unsigned enough = design && (!design->looks.empty() || !design->until.empty()) ? design->repeat : 0;
  // With this many timeouts the early end adds at most an eighth to the error of a claim.
  for (const Criterion& criterion : plan_.criteria)
    if (criterion.confidence)
      enough =
          std::max(enough, stats::minimumPairs(1 - (1 - *criterion.confidence) / 8, unsigned(criterion.cells.size())));
  return place.ended >= enough;
}

bool Index::asked(TrialKind kind, unsigned number) const {
  // A process is started for any of its points.
  if (!rowsOf(number).empty())
    return std::ranges::any_of(rowsOf(number), [&](unsigned row) { return asked(kind, row); });
  const Point& point = *places_[number].point;
  if (!runs(kind, number) || !point.startable() || settled(kind, of(kind, number))) return false;
  return !policy_ || !policy_->only || policy_->only->count(point.id) != 0;
}

bool Index::givenUp(TrialKind kind, unsigned number) const {
  return policy_ && of(kind, number).failed_in_a_row >= policy_->giveUpAfter();
}

std::optional<unsigned> Index::column(const std::string& metric) const { return valueIn(columns_, metric); }

bool Index::notOnDevice(const PlaceOutcomes& place, const std::string& metric) const {
  const std::optional<unsigned> wanted = column(metric);
  if (!wanted) return false;
  const bool says = !place.measured.empty() && (place.measured[*wanted] || place.not_on_device[*wanted]);
  if (says) return !place.measured[*wanted];
  return not_on_device_[*wanted] && !measured_[*wanted];
}

bool hasControls(const Plan& plan, TrialKind kind) {
  if (kind == TrialKind::Timed) return true;
  return kind == TrialKind::Quality && !plan::designOf(plan, TrialKind::Timed);
}

}  // namespace expc::judge
