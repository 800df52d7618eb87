#include <algorithm>
#include <map>
#include <set>

#include "runtime/analysis/format.h"
#include "runtime/plan/json.h"
#include "runtime/report/assets.h"
#include "runtime/report/chart.h"
#include "runtime/report/layout.h"
#include "runtime/report/sections.h"

namespace expc::report {
namespace {

using llvm::json::Array;
using llvm::json::Object;

/// The rest and what is too small for a colour of its own take the last two.
constexpr size_t kMaxCategories = kColours - 2;
constexpr size_t kMaxBars = 24;
constexpr int kBarHeight = 34, kAroundBars = 40;
constexpr const char *kOthers = "others", *kRest = "rest";

/// Seconds of a step by category.
struct Bar {
  std::string level;
  std::map<std::string, double> seconds;
  bool twice = false;  // some work is counted in two categories
};

Bar barOf(const analysis::AttributionView& view, std::string level, bool treated) {
  Bar bar{std::move(level), {}, false};
  for (const analysis::CategoryShare& category : view.categories) {
    const double seconds = treated ? category.treated : category.baseline;
    if (category.beside) continue;
    if (seconds < 0) bar.twice = true;
    if (seconds > 0) bar.seconds[category.rest ? kRest : category.name] += seconds;
  }
  return bar;
}

/// The phases are the largest categories of all bars, the largest first; small ones become one, and the rest is last.
Object specification(const std::vector<Bar>& bars) {
  std::map<std::string, double> largest;
  double longest = 0;
  bool twice = false;
  Array levels, rows, colours;
  for (const Bar& bar : bars) {
    double sum = 0;
    for (const auto& [name, seconds] : bar.seconds) {
      sum += seconds;
      largest[name] = std::max(largest[name], seconds);
    }
    longest = std::max(longest, sum);
    twice = twice || bar.twice;
    levels.push_back(plan::jsonText(bar.level));
  }
  const bool rest = largest.erase(kRest) > 0;
  std::vector<std::string> phases;
  for (const auto& [name, seconds] : largest) phases.push_back(name);
  std::ranges::stable_sort(phases, [&](const auto& a, const auto& b) { return largest[a] > largest[b]; });
  std::map<std::string, size_t> phase_of;
  for (size_t i = 0; i < phases.size(); ++i) phase_of[phases[i]] = std::min(i, kMaxCategories);
  if (phases.size() > kMaxCategories) {
    phases.resize(kMaxCategories);
    phases.push_back(kOthers);
  }
  if (rest) {
    phase_of[kRest] = phases.size();
    phases.push_back(kRest);
  }
  const analysis::DisplayUnit unit = analysis::displayUnit(longest, "s", "time");
  for (const Bar& bar : bars) {
    std::map<size_t, double> parts;
    for (const auto& [name, seconds] : bar.seconds) parts[phase_of[name]] += seconds;
    for (const auto& [phase, seconds] : parts)
      rows.push_back(Object{{"s", plan::jsonText(bar.level)},
                            {"c", plan::jsonText(phases[phase])},
                            {"i", phase},
                            {"v", seconds / unit.size}});
  }
  for (size_t i = 0; i < phases.size(); ++i)
    colours.push_back(phases[i] == kRest ? "#B8B8B8" : colourOf(phases[i] == kOthers ? kColours - 1 : i));
  return filled(assets::profile(), Object{{"unit", unit.symbol},
                                          {"height", kAroundBars + kBarHeight * static_cast<int>(bars.size())},
                                          {"twice", twice},
                                          {"levels", std::move(levels)},
                                          {"phases", plan::jsonTexts(phases)},
                                          {"colours", std::move(colours)},
                                          {"rows", std::move(rows)}});
}

/// What is compared with one baseline, which is the first bar.
struct Group {
  std::vector<Bar> bars;
  std::set<std::string> treated = {};  // points
};

}  // namespace

std::vector<Chart> profileCharts(const plan::Plan& plan, const std::vector<analysis::Attribution>& all) {
  InOrder<std::string, Group> groups;  // by their baselines
  for (const analysis::Attribution& one : all) {
    if (one.views.empty()) continue;
    auto [treated, baseline] = levelNames(plan, one);
    // Levels of several factors are named by all of the point.
    if (const plan::Point* point = plan.findPoint(one.treated); point && treated == kThisLevel)
      treated = plan.label(*point);
    if (groups.size() == kMaxCharts && !groups.contains(one.baseline)) continue;
    Group& group = groups[one.baseline];
    if (group.bars.empty()) group.bars.push_back(barOf(one.views[0], baseline, false));
    if (group.bars.size() < kMaxBars && group.treated.insert(one.treated).second)
      group.bars.push_back(barOf(one.views[0], treated, true));
  }
  std::vector<Chart> charts;
  for (const auto& [baseline, group] : groups) {
    const plan::Point* point = plan.findPoint(baseline);
    charts.push_back({"against " + (point ? plan.label(*point) : baseline), specification(group.bars)});
  }
  return charts;
}

}  // namespace expc::report
