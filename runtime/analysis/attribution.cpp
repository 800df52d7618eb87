#include "runtime/analysis/attribution.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string_view>

#include "runtime/plan/evaluate.h"
#include "runtime/plan/find.h"
#include "runtime/stats/estimators.h"

namespace expc::analysis {
namespace {

constexpr std::string_view kPrefix = "profile.";
/// A difference below this share of the baseline's step is none: shares of it would be noise.
constexpr double kNoDifference = 0.005;

struct ViewName {
  std::string_view name;
  bool whole;  // its categories and a rest make the step
};
constexpr ViewName kViews[] = {{"step", true}, {"device", true}, {"api", true}, {"kernel", false}, {"operator", true}};

struct Entry {
  double seconds = 0, count = 0;
};
/// One trial's breakdown, for one step: "step.forward" to its time.
struct Breakdown {
  double seconds = 0;
  std::map<std::string, Entry, std::less<>> entries;
};

std::optional<Breakdown> read(const store::Trial& trial) {
  const auto total = trial.series.find("profile.total");
  if (total == trial.series.end() || total->second.size() < 2) return std::nullopt;
  const double steps = total->second[1];
  if (!(steps > 0) || !(total->second[0] > 0)) return std::nullopt;
  Breakdown breakdown;
  breakdown.seconds = total->second[0] / steps;
  for (auto at = trial.series.lower_bound(std::string(kPrefix)); at != trial.series.end(); ++at) {
    std::string_view name = at->first;
    if (!name.starts_with(kPrefix)) break;
    name.remove_prefix(kPrefix.size());
    if (name.find('.') == std::string_view::npos || at->second.size() < 2) continue;
    if (!(at->second[0] >= 0)) continue;
    breakdown.entries[std::string(name)] = {at->second[0] / steps, at->second[1] / steps};
  }
  return breakdown;
}

std::optional<stats::Interval> intervalOf(const std::vector<double>& differences) {
  return stats::signedRank(differences).interval(kConfidence);
}

/// The breakdowns of two points, block by block.
struct Pair {
  std::vector<Breakdown> treated, baseline;

  Attribution attribution() const {
    Attribution attribution;
    attribution.blocks = static_cast<unsigned>(treated.size());
    const CategoryShare step = category("", [](const Breakdown& one) { return Entry{one.seconds, 0}; });
    attribution.treated_seconds = step.treated;
    attribution.baseline_seconds = step.baseline;
    attribution.differences = step.differences;
    attribution.interval = step.interval;
    for (const ViewName& wanted : kViews)
      if (auto found = view(wanted, step)) attribution.views.push_back(std::move(*found));
    return attribution;
  }

  std::optional<AttributionView> view(const ViewName& wanted, const CategoryShare& step) const {
    AttributionView view{std::string(wanted.name), categories(wanted.name)};
    if (view.categories.empty()) return std::nullopt;
    std::stable_sort(view.categories.begin(), view.categories.end(),
                     [](const auto& a, const auto& b) { return std::abs(a.difference()) > std::abs(b.difference()); });
    if (wanted.whole) view.categories.push_back(rest(view.categories, step));
    if (std::abs(step.difference()) >= kNoDifference * step.baseline)
      for (CategoryShare& category : view.categories) category.share = category.difference() / step.difference();
    if (wanted.name != "step") return view;
    for (CategoryShare& category : categories("beside")) {
      category.beside = true;
      view.categories.push_back(std::move(category));
    }
    return view;
  }

  std::vector<CategoryShare> categories(std::string_view view) const {
    const std::string prefix = std::string(view) + ".";
    std::set<std::string> names;
    for (const auto* side : {&treated, &baseline})
      for (const Breakdown& one : *side)
        for (auto at = one.entries.lower_bound(prefix); at != one.entries.end() && at->first.starts_with(prefix); ++at)
          names.insert(at->first);
    std::vector<CategoryShare> found;
    for (const std::string& name : names)
      found.push_back(category(name.substr(prefix.size()), [&](const Breakdown& one) {
        const auto at = one.entries.find(name);
        return at == one.entries.end() ? Entry{} : at->second;  // a name that one lacks counts as none there
      }));
    return found;
  }

  template <class EntryOf>
  CategoryShare category(std::string name, const EntryOf& entry_of) const {
    CategoryShare category;
    category.name = std::move(name);
    const double share = 1.0 / static_cast<double>(treated.size());
    for (size_t block = 0; block < treated.size(); ++block) {
      const Entry ours = entry_of(treated[block]), others = entry_of(baseline[block]);
      category.treated += ours.seconds * share;
      category.treated_count += ours.count * share;
      category.baseline += others.seconds * share;
      category.baseline_count += others.count * share;
      category.differences.push_back(ours.seconds - others.seconds);
    }
    category.interval = intervalOf(category.differences);
    return category;
  }

  static CategoryShare rest(const std::vector<CategoryShare>& categories, const CategoryShare& step) {
    CategoryShare rest = step;
    rest.rest = true;
    for (const CategoryShare& category : categories) {
      rest.treated -= category.treated;
      rest.baseline -= category.baseline;
      for (size_t block = 0; block < rest.differences.size(); ++block)
        rest.differences[block] -= category.differences[block];
    }
    rest.interval = intervalOf(rest.differences);
    // Work of several threads, streams or devices goes on at the same time.
    rest.name = rest.treated + rest.baseline >= 0 ? "rest" : "counted twice";
    return rest;
  }
};

/// The valid profile trials of each place, by block and session.
using Profiles = std::map<plan::Place, std::map<std::pair<int64_t, int64_t>, const store::Trial*>>;

Profiles profilesOf(const store::Results& results) {
  Profiles profiles;
  for (const store::Trial& trial : results.trials)
    if (trial.key->kind == plan::TrialKind::Profile && trial.status == store::TrialStatus::Valid)
      profiles[trial.place()][{trial.block, trial.session}] = &trial;
  return profiles;
}

std::optional<Attribution> attributionOf(Profiles& profiles, const plan::Place& treated, const plan::Place& baseline) {
  const auto& others = profiles[baseline];
  Pair pair;
  for (const auto& [where, trial] : profiles[treated]) {
    const auto other = others.find(where);
    if (other == others.end()) continue;
    auto one = read(*trial), two = read(*other->second);
    if (!one || !two) continue;
    pair.treated.push_back(std::move(*one));
    pair.baseline.push_back(std::move(*two));
  }
  if (pair.treated.empty()) return std::nullopt;
  Attribution attribution = pair.attribution();
  attribution.treated = treated.point;
  attribution.baseline = baseline.point;
  return attribution;
}

/// Whether a cell compares two points by nothing but times, or rates, of timed trials.
bool comparesTimes(const plan::Plan& plan, const plan::Cell& cell) {
  if (cell.kind != plan::TrialKind::Timed || cell.estimator == plan::Estimator::Median) return false;
  const auto terms = plan::metricTerms(*cell.term);
  return !terms.empty() && std::all_of(terms.begin(), terms.end(), [&](const plan::MetricTerm& term) {
    const plan::Metric* metric = plan.findMetric(term.metric);
    return metric && (metric->dimension == "time" || metric->dimension.ends_with("/time"));
  });
}

TimedEffect timedEffect(const plan::Comparison& comparison, unsigned cell, const ComparisonResult* result) {
  TimedEffect effect{comparison.name, std::nullopt, false};
  if (!result || cell >= result->cells.size()) return effect;
  const CellEstimate& estimate = result->cells[cell];
  if (!estimate.interval) return effect;
  effect.interval = estimate.interval;
  const double none = comparison.cells[cell].estimator == plan::Estimator::PairedRatio ? 1 : 0;
  effect.may_be_none = effect.interval->low <= none && none <= effect.interval->high;
  return effect;
}

void addOnce(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

/// Says that a cell of a comparison compares the two points.
void addComparison(const plan::Plan& plan, const plan::Comparison& comparison, unsigned cell,
                   const ComparisonResult* result, Attribution& to) {
  addOnce(to.comparisons, comparison.name);
  if (comparesTimes(plan, comparison.cells[cell])) to.timed.push_back(timedEffect(comparison, cell, result));
}

}  // namespace

const TimedEffect* Attribution::mayBeNone() const {
  const auto found = std::find_if(timed.begin(), timed.end(), [](const TimedEffect& one) { return one.may_be_none; });
  return found == timed.end() ? nullptr : &*found;
}

std::vector<Attribution> attribute(const plan::Plan& plan, const Judgement& judgement, const store::Results& results) {
  Profiles profiles = profilesOf(results);
  std::vector<Attribution> all;
  std::map<std::pair<plan::Place, plan::Place>, std::optional<size_t>> known;
  for (const plan::Comparison& comparison : plan.comparisons) {
    const ComparisonResult* result = plan::named(judgement.comparisons, comparison.name);
    for (unsigned number = 0; number < comparison.cells.size(); ++number) {
      const plan::Cell& cell = comparison.cells[number];
      // A comparison of comparisons reads four points: it is no pair.
      if (cell.points.size() != 2 || cell.points[0] == cell.points[1]) continue;
      const auto [at, fresh] = known.try_emplace({cell.points[0], cell.points[1]});
      if (fresh) {
        if (auto attribution = attributionOf(profiles, cell.points[0], cell.points[1])) {
          at->second = all.size();
          all.push_back(std::move(*attribution));
        }
      }
      if (at->second) addComparison(plan, comparison, number, result, all[*at->second]);
    }
  }
  for (const plan::Criterion& criterion : plan.criteria) {
    for (const plan::Cell& cell : criterion.cells) {
      if (cell.points.size() != 2) continue;
      const auto found = known.find({cell.points[0], cell.points[1]});
      if (found != known.end() && found->second) addOnce(all[*found->second].criteria, criterion.name);
    }
  }
  std::stable_partition(all.begin(), all.end(), [](const Attribution& one) { return !one.criteria.empty(); });
  return all;
}

std::optional<Attribution> attributePair(const plan::Plan& plan, const Judgement& judgement,
                                         const store::Results& results, const plan::Place& treated,
                                         const plan::Place& baseline) {
  Profiles profiles = profilesOf(results);
  auto attribution = attributionOf(profiles, treated, baseline);
  if (!attribution) return std::nullopt;
  const std::array<plan::Place, 2> pair{treated, baseline};
  // A comparison the other way round speaks of the same effect.
  const auto same = [&](const plan::Cell& cell) {
    return cell.points.size() == 2 && std::is_permutation(cell.points.begin(), cell.points.end(), pair.begin());
  };
  for (const plan::Comparison& comparison : plan.comparisons) {
    const ComparisonResult* result = plan::named(judgement.comparisons, comparison.name);
    for (unsigned number = 0; number < comparison.cells.size(); ++number)
      if (same(comparison.cells[number])) addComparison(plan, comparison, number, result, *attribution);
  }
  for (const plan::Criterion& criterion : plan.criteria)
    if (std::any_of(criterion.cells.begin(), criterion.cells.end(), same))
      addOnce(attribution->criteria, criterion.name);
  return attribution;
}

std::vector<CategoryShare> shortened(const AttributionView& view, size_t most) {
  std::vector<CategoryShare> kept, last;
  CategoryShare others;
  others.name = "others";
  size_t in_others = 0;
  for (const CategoryShare& category : view.categories) {
    if (category.rest || category.beside) {
      last.push_back(category);
    } else if (kept.size() < most) {
      kept.push_back(category);
    } else {
      ++in_others;
      others.treated += category.treated;
      others.baseline += category.baseline;
      others.treated_count += category.treated_count;
      others.baseline_count += category.baseline_count;
      if (category.share) others.share = others.share.value_or(0) + *category.share;
      others.differences.resize(category.differences.size());
      for (size_t block = 0; block < category.differences.size(); ++block)
        others.differences[block] += category.differences[block];
    }
  }
  others.interval = intervalOf(others.differences);
  if (in_others > 0) kept.push_back(std::move(others));
  kept.insert(kept.end(), last.begin(), last.end());
  return kept;
}

}  // namespace expc::analysis
