#include "runtime/report/profile_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "runtime/plan/json.h"
#include "runtime/report/attribution_text.h"

namespace expc::report {
namespace {

using llvm::json::Array;
using llvm::json::Object;

/// The rest and what is too small for a colour of its own take the last two.
constexpr size_t kMaxCategories = kColours - 2;
constexpr size_t kMaxBars = 24;
constexpr int kBarHeight = 34, kAround = 40;
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

/// The largest categories of all bars, the largest first; small ones become one, and the rest is last.
std::vector<std::string> categoriesOf(std::vector<Bar>& bars) {
  std::map<std::string, double> largest;
  bool rest = false;
  for (const Bar& bar : bars)
    for (const auto& [name, seconds] : bar.seconds) {
      rest = rest || name == kRest;
      if (name != kRest) largest[name] = std::max(largest[name], seconds);
    }
  std::vector<std::string> names;
  for (const auto& [name, seconds] : largest) names.push_back(name);
  std::stable_sort(names.begin(), names.end(), [&](const auto& a, const auto& b) { return largest[a] > largest[b]; });
  for (size_t i = kMaxCategories; i < names.size(); ++i)
    for (Bar& bar : bars)
      if (const auto found = bar.seconds.find(names[i]); found != bar.seconds.end()) {
        bar.seconds[kOthers] += found->second;
        bar.seconds.erase(found);
      }
  if (names.size() > kMaxCategories) {
    names.resize(kMaxCategories);
    names.push_back(kOthers);
  }
  if (rest) names.push_back(kRest);
  return names;
}

Object specification(std::vector<Bar> bars) {
  const std::vector<std::string> categories = categoriesOf(bars);
  double longest = 0;
  bool twice = false;
  Array levels, cells, range;
  for (const Bar& bar : bars) {
    double sum = 0;
    for (const auto& [name, seconds] : bar.seconds) sum += seconds;
    longest = std::max(longest, sum);
    twice = twice || bar.twice;
    levels.push_back(plan::jsonText(bar.level));
  }
  const AxisUnit unit = axisUnit("s", "time", longest);
  for (const Bar& bar : bars)
    for (size_t i = 0; i < categories.size(); ++i)
      if (const auto found = bar.seconds.find(categories[i]); found != bar.seconds.end())
        cells.push_back(Object{{"s", plan::jsonText(bar.level)},
                               {"c", plan::jsonText(categories[i])},
                               {"i", i},
                               {"v", unit.factor * found->second}});
  for (size_t i = 0; i < categories.size(); ++i)
    range.push_back(categories[i] == kRest ? "#B8B8B8" : colourOf(categories[i] == kOthers ? kColours - 1 : i));
  const std::string title = fmt::format("time of a step ({})", unit.symbol);
  Object x = fieldOf("v", "quantitative");
  x["stack"] = "zero";
  x["axis"] = Object{{"title", title}, {"tickCount", 6}};
  Object y = fieldOf("s", "ordinal");
  y["sort"] = std::move(levels);
  y["axis"] = Object{{"title", nullptr}, {"labelLimit", 160}};
  Object colour = fieldOf("c", "nominal");
  colour["scale"] = Object{{"domain", plan::jsonTexts(categories)}, {"range", std::move(range)}};
  colour["legend"] = Object{{"title", nullptr}, {"orient", "top"}, {"columns", 3}, {"labelLimit", 220}};
  Object encoding{{"x", std::move(x)},
                  {"y", std::move(y)},
                  {"color", std::move(colour)},
                  {"order", Object{{"field", "i"}, {"type", "quantitative"}}},
                  {"tooltip", Array{titled("s", "nominal", "level"), titled("c", "nominal", "phase"),
                                    titled("v", "quantitative", title)}}};
  Object mark{{"type", "bar"}, {"stroke", "white"}, {"strokeWidth", 0.6}};
  Object result{{"usermeta", Object{{"columns", Array{Array{"s", "level"}, Array{"c", "phase"}, Array{"v", title}}}}},
                {"width", "container"},
                {"height", kAround + kBarHeight * static_cast<int>(bars.size())},
                {"datasets", Object{{"cells", std::move(cells)}}},
                {"layer", Array{layerOf(std::move(mark), std::move(encoding), "cells")}}};
  if (twice)
    result["title"] =
        noteBelow("a bar is longer than its step: some work goes on at the same time and is counted twice");
  return result;
}

}  // namespace

std::vector<Chart> profileCharts(const plan::Plan& plan, const std::vector<analysis::Attribution>& all) {
  std::vector<std::pair<std::string, std::vector<Bar>>> groups;  // by baseline
  std::map<std::string, std::vector<std::string>> seen;
  for (const analysis::Attribution& one : all) {
    if (one.views.empty()) continue;
    auto [treated, baseline] = levelNames(plan, one);
    // Levels of several factors are named by all of the point.
    if (const plan::Point* point = plan.findPoint(one.treated); point && treated == kThisLevel)
      treated = plan.label(*point);
    auto group =
        std::find_if(groups.begin(), groups.end(), [&](const auto& known) { return known.first == one.baseline; });
    if (group == groups.end()) {
      if (groups.size() == kMaxCharts) continue;
      group = groups.insert(groups.end(), {one.baseline, {barOf(one.views[0], baseline, false)}});
    }
    std::vector<std::string>& treated_before = seen[one.baseline];
    if (std::count(treated_before.begin(), treated_before.end(), one.treated) || group->second.size() == kMaxBars)
      continue;
    treated_before.push_back(one.treated);
    group->second.push_back(barOf(one.views[0], treated, true));
  }
  std::vector<Chart> charts;
  for (auto& [baseline, bars] : groups) {
    const plan::Point* point = plan.findPoint(baseline);
    charts.push_back({"against " + (point ? plan.label(*point) : baseline), specification(std::move(bars))});
  }
  return charts;
}

}  // namespace expc::report
