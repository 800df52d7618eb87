#include "runtime/judge/block_values.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <numeric>
#include <utility>

#include "runtime/base/text.h"
#include "runtime/judge/readings.h"
#include "runtime/plan/evaluate.h"
#include "runtime/plan/labels.h"

namespace expc::judge {

using plan::Reason;
using plan::Why;

namespace {

/// The points of a cell, and where their outcomes of one block are.
class Members {
 public:
  Members(const Index& index, const plan::Cell& cell, Arms arms) : index_(index), cell_(cell), arms_(arms) {
    for (const Place& place : cell.points) places_.push_back(&index.of(cell.kind, place));
    at_.resize(places_.size());
  }

  const std::vector<Outcome>& ofFirst() const { return places_.front()->outcomes; }
  bool triedIn(int64_t block) const {
    return std::ranges::all_of(places_, [&](const auto* place) { return place->triedIn(block); });
  }
  /// From now on everything is about this block and session.
  void moveTo(int64_t block, int64_t session) {
    for (size_t i = 0; i < places_.size(); ++i) at_[i] = places_[i]->find(block, session);
    swapped_ = arms_ == Arms::ByTime && at_.size() == 2 && at_[0] && at_[1] &&
               places_[0]->outcomes[*at_[0]].trial < places_[1]->outcomes[*at_[1]].trial;
  }

  /// Why the block has no value: the first point that has none; null if all have one.
  Why whyLost() const {
    for (size_t i = 0; i < places_.size(); ++i) {
      const Place& place = cell_.points[i];
      if (!at_[i]) return because(about(index_, place, Reason::NotTogether));
      const Outcome& outcome = places_[i]->outcomes[*at_[i]];
      if (outcome.ended()) continue;
      if (outcome.superseded) {
        const bool again = outcome.limit < index_.limit(cell_.kind, place.point);
        return because(about(index_, place, again ? Reason::Superseded : Reason::NeedsLimit, {outcome.limit}));
      }
      const Reason::Code end = outcome.status == TrialStatus::Infeasible ? Reason::RanOut
                               : outcome.status == TrialStatus::Invalid  ? Reason::Disturbed
                                                                         : Reason::Failed;
      return because(about(index_, place, end, {}, brief(*outcome.reason)));
    }
    return nullptr;
  }
  int64_t lastRun() const {
    int64_t last = 0;
    for (size_t i = 0; i < places_.size(); ++i)
      if (at_[i]) last = std::max(last, places_[i]->outcomes[*at_[i]].run);
    return last;
  }
  bool ended() const { return all(&Outcome::ended); }
  bool valid() const { return all(&Outcome::valid); }

  Reading read(const MetricTerm& term) const {
    const auto member = std::ranges::find(cell_.points, term.place);
    const size_t named = member - cell_.points.begin(), i = swapped_ ? 1 - named : named;
    if (member == cell_.points.end() || !at_[i])
      return {std::nullopt, {}, because(about(index_, term.place, Reason::NoTrial))};
    Reading found = readMetric(index_, term.metric, *places_[i], *at_[i]);
    const Reason::Code code = found.why ? origin(*found.why).code : Reason::Said;
    if (code == Reason::NotInTrials || code == Reason::NotInOutput) {
      Reason of_place = about(index_, term.place, Reason::OfPlace);
      of_place.because = std::move(found.why);
      found.why = because(std::move(of_place));
    }
    return found;
  }

 private:
  bool all(bool (Outcome::*holds)() const) const {
    for (size_t i = 0; i < places_.size(); ++i)
      if (!at_[i] || !(places_[i]->outcomes[*at_[i]].*holds)()) return false;
    return true;
  }

  const Index& index_;
  const plan::Cell& cell_;
  const Arms arms_;
  bool swapped_ = false;
  std::vector<const PlaceOutcomes*> places_;
  std::vector<std::optional<size_t>> at_;
};

std::vector<double>& readingsOf(std::vector<Readings>& readings, const MetricTerm& term) {
  for (Readings& one : readings)
    if (one.of == &term) return one.values;
  return readings.emplace_back(&term).values;
}

/// The value of the cell's term where `members` are.
Reading valueOf(const plan::Cell& cell, const Members& members, std::vector<Readings>& readings) {
  Reading reading = evaluate(*cell.term, [&](const MetricTerm& term) {
    const Reading found = members.read(term);
    // The last value of a series is not a clock reading, so it says nothing about clock resolution.
    if (found.value && !found.series && std::isfinite(*found.value)) readingsOf(readings, term).push_back(*found.value);
    return found;
  });
  if (cell.estimator != Estimator::PairedRatio || !reading.value || isAboveZero(reading)) return reading;
  return {std::nullopt, {}, plan::because({Reason::NotPositive})};
}

/// The reason why a ratio has no value: the first metric and point that is not above zero, and how often.
Why whyNotPositive(const Index& index, const std::vector<Readings>& readings) {
  for (const auto& [term, values] : readings) {
    const auto count = [&](auto holds) { return double(std::ranges::count_if(values, holds)); };
    const double without = count([](double value) { return value <= 0; });
    const bool below = count([](double value) { return value < 0; }) > 0;
    if (without == 0) continue;
    Reason reason = about(index, term->place, Reason::NotPositive, {without, double(values.size()), double(below)});
    reason.name = term->metric;
    return because(std::move(reason));
  }
  return plan::because({Reason::NotPositive});
}

}  // namespace

BlockValues blockValues(const Index& index, const plan::Cell& cell, Arms arms) {
  BlockValues result;
  Members members(index, cell, arms);
  const bool ratio = cell.estimator == Estimator::PairedRatio;
  const std::vector<Outcome>& first = members.ofFirst();
  bool has_value = false;  // in the block, of some session
  for (size_t i = 0; i < first.size(); ++i) {
    const int64_t block = first[i].block, session = first[i].session;
    members.moveTo(block, session);
    const Reading reading = members.ended() ? valueOf(cell, members, result.readings) : Reading{};
    if (reading.value) {
      result.worst |= reading.worst;
      result.diverged += reading.worst.diverged;
      result.values.push_back(ratio ? std::max(0.0, *reading.value) : *reading.value);  // of a worst rate 0
      result.sessions.push_back(session);
      result.runs.push_back(members.lastRun());
      has_value = true;
    }
    if (i + 1 < first.size() && first[i + 1].block == block) continue;
    if (!has_value) {
      Why why = members.ended() ? reading.why : members.whyLost();
      if (members.triedIn(block)) {
        ++result.lost;
        // A pair of two that diverged is lost as one of two that timed out: nothing can be said of it.
        const bool told = why && origin(*why).code == Reason::BothWorst;
        if (members.valid() && !told) ++result.unused, result.why_unused = why;
        result.why_lost = std::move(why);
      } else {
        result.apart = std::move(why);
      }
    }
    has_value = false;
  }
  if (result.why_unused && origin(*result.why_unused).code == Reason::NotPositive)
    result.why_unused = result.why_lost = whyNotPositive(index, result.readings);
  return result;
}
ValuesBySession valuesOf(const Index& index, const plan::Cell& cell) { return blockValues(index, cell); }

BlockValues BlockValues::first(unsigned count) const {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t i) { return runs[i]; });
  order.resize(std::min<size_t>(count, order.size()));
  std::ranges::sort(order);
  BlockValues taken;
  taken.readings = readings;
  for (const size_t i : order) {
    taken.values.push_back(values[i]);
    taken.sessions.push_back(sessions[i]);
    taken.runs.push_back(runs[i]);
  }
  return taken;
}
Reason about(const Index& index, const Place& place, Reason::Code code, std::vector<double> numbers, std::string said) {
  const Plan::Process* process = index.plan().findProcess(place.point);
  const Point* point = process ? &index.plan().points[process->rows.front()] : index.point(place.point);
  return {.code = code,
          .point = point ? unsigned(point - index.plan().points.data()) : UINT_MAX,
          .control = place.control,
          .numbers = std::move(numbers),
          .said = std::move(said)};
}

Reason whyNotRun(const Index& index, const Place& place, bool claimed) {
  const Point* point = index.point(place.point);
  if (point && !point->unavailable.empty()) return about(index, place, Reason::Unavailable, {}, point->unavailable);
  if (point && !point->expected_infeasible.empty())
    return about(index, place, claimed ? Reason::ExpectedOutOnly : Reason::ExpectedOut, {}, point->expected_infeasible);
  return about(index, place, Reason::NotRun);
}

std::string brief(const std::string& reason) {
  constexpr unsigned kMost = 240;  // columns
  return base::elided(reason.substr(0, reason.find('\n')), kMost);
}

std::string withoutIds(std::string_view text) {
  constexpr size_t kId = 4;  // digits
  std::string result;
  while (!text.empty()) {
    const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size()),
                 taken = std::max<size_t>(digits, 1);
    result += digits >= kId ? "#" : text.substr(0, taken);
    text.remove_prefix(taken);
  }
  return result;
}

std::string placeLabel(const Plan& plan, const Point* point, const std::string& control) {
  std::string label = point ? plan.label(*point) : "";
  if (label.empty()) label = "the point";
  return control.empty() ? label : label + " (control " + control + ")";
}

std::string placeLabel(const Index& index, const Place& place) {
  return placeLabel(index.plan(), index.point(place.point), place.control);
}

}  // namespace expc::judge
