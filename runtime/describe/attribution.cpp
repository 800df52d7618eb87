#include "runtime/describe/attribution.h"

#include <llvm/ADT/StringExtras.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string_view>

#include "runtime/base/entry.h"
#include "runtime/base/find.h"
#include "runtime/base/format.h"
#include "runtime/base/llvm.h"
#include "runtime/plan/evaluate.h"
#include "runtime/stats/estimators.h"

namespace expc::describe {
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

std::optional<Breakdown> read(const Trial& trial) {
  const std::vector<double>* total = entryOf(trial.series, "profile.total");
  if (!total || total->size() < 2) return std::nullopt;
  const double steps = (*total)[1];
  if (!(steps > 0) || !((*total)[0] > 0)) return std::nullopt;
  Breakdown breakdown;
  breakdown.seconds = (*total)[0] / steps;
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
  return stats::signedRank(differences).interval(judge::kConfidence);
}

/// The breakdowns of two points, block by block.
struct Pair {
  std::vector<Breakdown> treated, baseline;

  Attribution attribution() const {
    Attribution attribution;
    attribution.blocks = treated.size();
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
    std::ranges::stable_sort(view.categories, [](const auto& a, const auto& b) {
      return std::abs(a.difference()) > std::abs(b.difference());
    });
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
        return valueIn(one.entries, name).value_or(Entry{});  // a name that one lacks counts as none there
      }));
    return found;
  }

  template <class EntryOf>
  CategoryShare category(std::string name, const EntryOf& entry_of) const {
    CategoryShare category;
    category.name = std::move(name);
    const double share = 1.0 / double(treated.size());
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
using Profiles = std::map<Place, std::map<std::pair<int64_t, int64_t>, const Trial*>>;

Profiles profilesOf(const Results& results) {
  Profiles profiles;
  for (const Trial& trial : results.trials)
    if (trial.key->kind == TrialKind::Profile && trial.status == TrialStatus::Valid)
      profiles[trial.place()][{trial.block, trial.session}] = &trial;
  return profiles;
}

/// Whether a cell compares two points by nothing but times, or rates, of timed trials.
bool comparesTimes(const Plan& plan, const plan::Cell& cell) {
  if (cell.kind != TrialKind::Timed || cell.estimator == Estimator::Median) return false;
  const auto terms = plan::metricTerms(*cell.term);
  return !terms.empty() && std::ranges::all_of(terms, [&](const MetricTerm& term) {
    const Metric* metric = plan.findMetric(term.metric);
    return metric && (metric->dimension == "time" || metric->dimension.ends_with("/time"));
  });
}

TimedEffect timedEffect(const Comparison& comparison, unsigned cell, const judge::ComparisonResult* result) {
  TimedEffect effect{comparison.name, std::nullopt, false};
  if (!result || cell >= result->cells.size()) return effect;
  const CellEstimate& estimate = result->cells[cell];
  if (!estimate.interval) return effect;
  effect.interval = estimate.interval;
  const double none = comparison.cells[cell].estimator == Estimator::PairedRatio ? 1 : 0;
  effect.may_be_none = effect.interval->low <= none && none <= effect.interval->high;
  return effect;
}

/// Attributes the difference of two points, and lists the comparisons and criteria that read them. `either_way`: also
/// those that read them the other way round, which speak of the same effect. A comparison of comparisons reads four
/// points: it is no pair.
std::optional<Attribution> attributionOf(const Plan& plan, const Judgement& judgement, Profiles& profiles,
                                         const std::array<Place, 2>& points, bool either_way) {
  const auto& others = profiles[points[1]];
  Pair pair;
  for (const auto& [where, trial] : profiles[points[0]]) {
    const auto* other = entryOf(others, where);
    if (!other) continue;
    auto one = read(*trial), two = read(**other);
    if (!one || !two) continue;
    pair.treated.push_back(std::move(*one));
    pair.baseline.push_back(std::move(*two));
  }
  if (pair.treated.empty()) return std::nullopt;
  Attribution attribution = pair.attribution();
  attribution.treated = points[0].point;
  attribution.baseline = points[1].point;
  const auto same = [&](const plan::Cell& cell) {
    return std::ranges::equal(cell.points, points) || (either_way && std::ranges::is_permutation(cell.points, points));
  };
  for (const Comparison& comparison : plan.comparisons) {
    const judge::ComparisonResult* result = base::named(judgement.comparisons, comparison.name);
    for (unsigned cell = 0; cell < comparison.cells.size(); ++cell) {
      if (!same(comparison.cells[cell])) continue;
      base::addOnce(attribution.comparisons, comparison.name);
      if (comparesTimes(plan, comparison.cells[cell]))
        attribution.timed.push_back(timedEffect(comparison, cell, result));
    }
  }
  for (const Criterion& criterion : plan.criteria)
    if (std::ranges::any_of(criterion.cells, same)) base::addOnce(attribution.criteria, criterion.name);
  return attribution;
}

/// The number of the one that a study calls so; an error says that it is no `what` of `whom`, and which there are.
template <class T>
Expected<unsigned> numberOf(StringRef wanted, const std::vector<T>& all, std::string T::* name, const char* what,
                            const std::string& whom) {
  std::vector<std::string> names;
  for (const T& one : all) {
    // A shell takes the quotes of a text away.
    if (wanted == one.*name || ("\"" + wanted + "\"").str() == one.*name) return unsigned(names.size());
    names.push_back(one.*name);
  }
  return llvm::createStringError(fmt::format("'{}' is not a {} of {}, which has {}", wanted.str(), what, whom,
                                             names.empty() ? "none" : llvm::join(names, ", ")));
}

Expected<unsigned> factorOf(const Plan& plan, StringRef name) {
  return numberOf(name.trim(), plan.factors, &plan::Factor::name, "factor", fmt::format("the study '{}'", plan.study));
}

Expected<unsigned> levelOf(const plan::Factor& factor, StringRef label) {
  return numberOf(label.trim(), factor.levels, &plan::Level::label, "level", "'" + factor.name + "'");
}

/// "gpus = 2, layout = nhwc"
Expected<std::map<unsigned, unsigned>> placeOf(const Plan& plan, StringRef text) {
  std::map<unsigned, unsigned> levels;
  llvm::SmallVector<StringRef, 8> parts;
  text.split(parts, ',', -1, /*KeepEmpty=*/false);
  for (const StringRef part : parts) {
    const auto [name, label] = part.split('=');
    auto factor = TRY(factorOf(plan, name));
    TRY(levelOf(plan.factors[factor], label.ltrim('=')).moveInto(levels[factor]));
  }
  return levels;
}

/// Whether two points have the same levels, but for one factor, wherever both have one.
bool agreeElsewhere(const Point& a, const Point& b, unsigned factor) {
  for (unsigned other = 0; other < a.levels.size(); ++other) {
    if (other == factor || a.levels[other] == plan::kInactive || b.levels[other] == plan::kInactive) continue;
    if (a.levels[other] != b.levels[other]) return false;
  }
  return true;
}

bool isAt(const Point& point, const std::map<unsigned, unsigned>& place) {
  return std::ranges::all_of(place, [&](const auto& one) { return point.levels[one.first] == one.second; });
}

}  // namespace

const TimedEffect* Attribution::mayBeNone() const {
  const auto found = std::ranges::find(timed, true, &TimedEffect::may_be_none);
  return found == timed.end() ? nullptr : &*found;
}

std::vector<Attribution> attribute(const Findings& findings) {
  Profiles profiles = profilesOf(findings.results);
  std::vector<Attribution> all;
  std::set<std::array<Place, 2>> seen;
  for (const Comparison& comparison : findings.plan.comparisons)
    for (const plan::Cell& cell : comparison.cells) {
      if (cell.points.size() != 2 || cell.points[0] == cell.points[1]) continue;
      const std::array<Place, 2> points{cell.points[0], cell.points[1]};
      if (!seen.insert(points).second) continue;
      if (auto one = attributionOf(findings.plan, findings.judgement, profiles, points, false))
        all.push_back(std::move(*one));
    }
  std::ranges::stable_partition(all, [](const Attribution& one) { return !one.criteria.empty(); });
  return all;
}

std::optional<Attribution> attributePair(const Findings& findings, const Place& treated, const Place& baseline) {
  Profiles profiles = profilesOf(findings.results);
  return attributionOf(findings.plan, findings.judgement, profiles, {treated, baseline}, true);
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

Expected<std::vector<PairOfPoints>> pairsOf(const Plan& plan, std::string_view change) {
  const auto [what, where] = StringRef(change).split('@');
  const auto [name, levels] = what.split(':');
  const auto [from, to] = levels.split("->");
  if (from.trim().empty() || to.trim().empty())
    return llvm::createStringError(
        fmt::format("'{}' is not a change of a level, which is written 'precision: fp64 -> fp16 @ gpus = 2'", change));
  auto factor = TRY(factorOf(plan, name));
  auto baseline = TRY(levelOf(plan.factors[factor], from));
  auto treated = TRY(levelOf(plan.factors[factor], to));
  auto place = TRY(placeOf(plan, where.trim()));
  std::vector<PairOfPoints> pairs;
  for (const Point& before : plan.points)
    for (const Point& after : plan.points)
      if (before.levels[factor] == baseline && after.levels[factor] == treated &&
          agreeElsewhere(before, after, factor) && isAt(after, place))
        pairs.push_back({after.id, before.id});
  if (pairs.empty()) return llvm::createStringError(fmt::format("the plan has no two points with '{}'", change));
  return pairs;
}

}  // namespace expc::describe
