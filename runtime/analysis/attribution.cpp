#include "runtime/analysis/attribution.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>

namespace expc::analysis {
namespace {

constexpr std::string_view kPrefix = "profile.";
/// A difference below this share of the baseline's step is none: shares of it would be noise.
constexpr double kNoDifference = 0.005;

struct ViewName {
  std::string_view name, title;
  bool whole;  // its categories and a rest make the step
};
constexpr ViewName kViews[] = {{"step", "phases of the step", true},
                               {"device", "the device", true},
                               {"api", "calls of the CUDA runtime, host time", true},
                               {"kernel", "kernels, device time", false},
                               {"operator", "operators, own time", true}};

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

/// The mean over trials; a name that some lack counts as none there.
Breakdown meanOf(const std::vector<Breakdown>& all) {
  Breakdown mean;
  const double share = 1.0 / static_cast<double>(all.size());
  for (const Breakdown& one : all) {
    mean.seconds += one.seconds * share;
    for (const auto& [name, entry] : one.entries) {
      mean.entries[name].seconds += entry.seconds * share;
      mean.entries[name].count += entry.count * share;
    }
  }
  return mean;
}

class Pair {
 public:
  Pair(const Breakdown& treated, const Breakdown& baseline) : treated_(treated), baseline_(baseline) {
    const double difference = treated.seconds - baseline.seconds;
    if (std::abs(difference) >= kNoDifference * baseline.seconds) difference_ = difference;
  }

  std::optional<AttributionView> view(const ViewName& wanted) const {
    AttributionView view{std::string(wanted.name), std::string(wanted.title), categories(wanted.name)};
    if (view.categories.empty()) return std::nullopt;
    std::stable_sort(view.categories.begin(), view.categories.end(),
                     [](const auto& a, const auto& b) { return std::abs(a.difference()) > std::abs(b.difference()); });
    if (wanted.whole) view.categories.push_back(rest(view.categories));
    for (CategoryShare& category : view.categories) {
      if (difference_) category.share = category.difference() / *difference_;
    }
    if (wanted.name == "step") {
      for (CategoryShare& category : categories("beside")) {
        category.beside = true;
        view.categories.push_back(std::move(category));
      }
    }
    return view;
  }

 private:
  std::vector<CategoryShare> categories(std::string_view view) const {
    const std::string prefix = std::string(view) + ".";
    std::set<std::string> names;
    for (const Breakdown* side : {&treated_, &baseline_}) {
      for (auto at = side->entries.lower_bound(prefix); at != side->entries.end() && at->first.starts_with(prefix);
           ++at)
        names.insert(at->first);
    }
    std::vector<CategoryShare> found;
    for (const std::string& name : names) {
      const Entry treated = entry(treated_, name), baseline = entry(baseline_, name);
      found.push_back({name.substr(prefix.size()), treated.seconds, baseline.seconds, treated.count, baseline.count,
                       std::nullopt, false, false});
    }
    return found;
  }

  CategoryShare rest(const std::vector<CategoryShare>& categories) const {
    CategoryShare rest;
    rest.rest = true;
    rest.treated = treated_.seconds;
    rest.baseline = baseline_.seconds;
    for (const CategoryShare& category : categories) {
      rest.treated -= category.treated;
      rest.baseline -= category.baseline;
    }
    // Work of several threads, streams or devices goes on at the same time.
    rest.name = rest.treated + rest.baseline >= 0 ? "rest" : "counted twice";
    return rest;
  }

  static Entry entry(const Breakdown& side, const std::string& name) {
    const auto found = side.entries.find(name);
    return found == side.entries.end() ? Entry{} : found->second;
  }

  const Breakdown& treated_;
  const Breakdown& baseline_;
  std::optional<double> difference_;
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
  std::vector<Breakdown> treated_side, baseline_side;
  for (const auto& [where, trial] : profiles[treated]) {
    const auto other = others.find(where);
    if (other == others.end()) continue;
    auto one = read(*trial), two = read(*other->second);
    if (!one || !two) continue;
    treated_side.push_back(std::move(*one));
    baseline_side.push_back(std::move(*two));
  }
  if (treated_side.empty()) return std::nullopt;
  const Breakdown mean = meanOf(treated_side), against = meanOf(baseline_side);
  Attribution attribution;
  attribution.treated = treated.point;
  attribution.baseline = baseline.point;
  attribution.blocks = static_cast<unsigned>(treated_side.size());
  attribution.treated_seconds = mean.seconds;
  attribution.baseline_seconds = against.seconds;
  const Pair pair(mean, against);
  for (const ViewName& wanted : kViews) {
    if (auto view = pair.view(wanted)) attribution.views.push_back(std::move(*view));
  }
  return attribution;
}

void addOnce(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

}  // namespace

std::vector<Attribution> attribute(const plan::Plan& plan, const store::Results& results) {
  Profiles profiles = profilesOf(results);
  std::vector<Attribution> all;
  std::map<std::pair<plan::Place, plan::Place>, std::optional<size_t>> known;
  for (const plan::Comparison& comparison : plan.comparisons) {
    for (const plan::Cell& cell : comparison.cells) {
      // A comparison of comparisons reads four points: it is no pair.
      if (cell.points.size() != 2 || cell.points[0] == cell.points[1]) continue;
      const auto [at, fresh] = known.try_emplace({cell.points[0], cell.points[1]});
      if (fresh) {
        if (auto attribution = attributionOf(profiles, cell.points[0], cell.points[1])) {
          at->second = all.size();
          all.push_back(std::move(*attribution));
        }
      }
      if (!at->second) continue;
      addOnce(all[*at->second].comparisons, comparison.name);
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
    }
  }
  if (in_others > 0) kept.push_back(std::move(others));
  kept.insert(kept.end(), last.begin(), last.end());
  return kept;
}

}  // namespace expc::analysis
