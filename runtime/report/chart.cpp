// Charts of grids, and of profiles. A chart of a grid has a factor on x, another one as colour, and one picture for
// each combination of further factors. Columns stand side by side around their x, so that intervals do not cover each
// other. With too many colours it becomes a heat map. Rows are kept small: their members have one letter.

#include "runtime/report/chart.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "runtime/base/entry.h"
#include "runtime/base/json.h"
#include "runtime/base/numbers.h"
#include "runtime/plan/labels.h"
#include "runtime/report/assets.h"
#include "runtime/report/paint.h"
#include "runtime/report/sections.h"

namespace expc::report {
namespace {

using json::Array;
using json::Object;

/// Values of single blocks stand this many pixels left of their estimate, or less if there is no room.
constexpr double kDotsAside = 11;
/// Above this many single values no dots are drawn.
constexpr size_t kMaxDots = 4000;
/// Above this many places an axis has fewer pixels than places, so no chart is drawn.
constexpr size_t kMaxPlaces = 1000;
/// Pixels that a chart's data have at least, on a narrow screen.
constexpr double kNarrowWidth = 270;

/// Over fewer places than this, lines of many colours can still be told apart.
constexpr size_t kWide = 3;
/// Above this many levels across, the fields of a heat map have no room for numbers.
constexpr size_t kMaxWritten = 10;
constexpr int kRowHeight = 22, kMaxHeight = 900, kAround = 60;

/// The scales and options that all charts of one grid share.
struct Frame {
  const Grid& grid;
  const FactorAxis& x;
  double slot;    // the pixels that a column has at its x
  double factor;  // of the axis's unit
  bool ideal;     // the cells' ideals make a line over this x
  bool dots;

  /// Returns where a column stands beside its x, in pixels; columns are closer together the more there are.
  double offset(size_t column) const { return slot * (double(column) - 0.5 * double(grid.columns.size() - 1)); }
};

/// Returns the pixels of a column at its x, within bounds that keep marks visible.
double slotOf(const FactorAxis& x, size_t places, size_t columns) {
  // Words share the width evenly; numbers have as much room as their closest neighbours leave.
  const double several = std::max<size_t>(1, columns);
  if (x.places.empty()) return std::clamp(420.0 / (several * double(places)), 9.0, 44.0);
  return std::clamp(x.narrowest * kNarrowWidth / (several + 1), 2.0, 12.0);
}

/// Returns the labels on x.
std::set<unsigned> levelsOn(const Grid& grid) {
  std::set<unsigned> levels;
  for (const auto& row : grid.row_levels) levels.insert(row.empty() ? 0 : row.back());
  return levels;
}

/// Returns the range of everything that is drawn, and the number of dots; with `estimates` only these count.
std::pair<Extent, size_t> extentOf(const Grid& grid, bool ideals, bool estimates) {
  Extent extent;
  size_t dots = 0;
  for (const auto& row : grid.cells)
    for (const GridCell& cell : row) {
      if (!cell.estimate) continue;
      extent.add(cell.estimate);
      if (estimates) continue;
      extent.add(cell);
      extent.add(cell.published);
      if (ideals) extent.add(cell.ideal);
      dots += cell.values.size();
    }
  return {extent, dots};
}

/// The rows of one chart, and what some of them have, which decides about layers of the chart.
struct Data {
  Array rows;
  bool published = false, dots = false;
  std::map<std::string, std::set<double>> ideals;  // by x

  /// Adds a cell as a row; a cell without a finite estimate cannot be drawn. Members: x and its place, series, offset,
  /// estimate, n, text, interval, published, ideal, values.
  void add(const Frame& frame, const std::string& x, size_t column, const GridCell& cell) {
    if (!cell.estimate || !std::isfinite(*cell.estimate)) return;
    Object row{{"x", jsonText(x)},
               {"s", jsonText(frame.grid.columns[column])},
               {"o", frame.offset(column)},
               {"e", frame.factor * *cell.estimate},
               {"n", cell.n},
               {"t", jsonText(valueCell(cell).inText(" "))}};
    // A level with a place on an axis of numbers has that place, too.
    if (const auto* at = entryOf(frame.x.places, x)) row["xp"] = *at;
    addEnds(row, "l", "h", cell.interval, frame.factor);
    if (cell.published) row["r"] = frame.factor * *cell.published;
    published = published || cell.published;
    if (cell.ideal && frame.ideal) {
      row["i"] = frame.factor * *cell.ideal;
      ideals[x].insert(frame.factor * *cell.ideal);
    }
    if (frame.dots) {
      Array values;
      for (const double value : cell.values)
        if (std::isfinite(value)) values.push_back(frame.factor * value);
      dots = dots || !values.empty();
      row["v"] = std::move(values);
    }
    rows.push_back(std::move(row));
  }
};

/// Returns the names of references that have a value here: "table2, table3".
std::string referencesHere(const Plan& plan) {
  std::vector<std::string> names;
  for (const plan::Reference& reference : plan.references)
    if (!reference.values.empty()) names.push_back(reference.name);
  return joined(names);
}

/// Returns the levels of factors beyond x: "layout=nhwc, size=32px".
std::string facetOf(const Grid& grid, const std::vector<std::string>& row) {
  std::string text;
  for (size_t i = 0; i + 1 < row.size(); ++i) plan::addLabel(text, grid.row_factors[i], row[i], ", ");
  return text;
}

// ---- where the time of a step goes

/// Categories with a colour of their own; the last two colours are for small ones together, and for the rest.
constexpr size_t kMaxCategories = kColours - 2;
constexpr size_t kMaxBars = 24;
constexpr int kBarHeight = 34, kAroundBars = 40;
constexpr const char *kOthers = "others", *kRest = "rest";

/// A bar: the seconds of a step by category.
struct Bar {
  std::string level;
  std::map<std::string, double> seconds;
  bool twice = false;  // some work is counted in two categories
};

/// Returns the bar of one level from a view. Time beside the step is left out. A negative rest means that some time is
/// counted twice.
Bar barOf(const describe::AttributionView& view, std::string level, bool treated) {
  Bar bar{std::move(level), {}, false};
  for (const describe::CategoryShare& category : view.categories) {
    const double seconds = treated ? category.treated : category.baseline;
    if (category.beside) continue;
    // The rest is what categories leave of the step, so it is negative if they overlap.
    if (seconds < 0) bar.twice = true;
    if (seconds > 0) bar.seconds[category.rest ? kRest : category.name] += seconds;
  }
  return bar;
}

/// Returns the chart of bars. Phases are the categories that are largest in any bar, the largest first; small ones are
/// combined, and the rest comes last.
Object specification(const std::vector<Bar>& bars) {
  std::map<std::string, double> largest;
  double longest = 0;
  bool twice = false;
  Array levels, rows, colours;
  for (const Bar& bar : bars) {
    // The unit suits the longest bar, and colours go to the categories that are largest anywhere.
    double sum = 0;
    for (const auto& [name, seconds] : bar.seconds) {
      sum += seconds;
      largest[name] = std::max(largest[name], seconds);
    }
    longest = std::max(longest, sum);
    twice = twice || bar.twice;
    levels.push_back(jsonText(bar.level));
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
  const base::DisplayUnit unit = base::displayUnit(longest, "s", "time");
  for (const Bar& bar : bars) {
    std::map<size_t, double> parts;
    for (const auto& [name, seconds] : bar.seconds) parts[phase_of[name]] += seconds;
    for (const auto& [phase, seconds] : parts)
      rows.push_back(
          Object{{"s", jsonText(bar.level)}, {"c", jsonText(phases[phase])}, {"i", phase}, {"v", seconds / unit.size}});
  }
  for (size_t i = 0; i < phases.size(); ++i)
    colours.push_back(phases[i] == kRest ? "#B8B8B8" : colourOf(phases[i] == kOthers ? kColours - 1 : i));
  return filled(assets::profile(), Object{{"unit", unit.symbol},
                                          {"height", kAroundBars + kBarHeight * int(bars.size())},
                                          {"twice", twice},
                                          {"levels", std::move(levels)},
                                          {"phases", base::jsonTexts(phases)},
                                          {"colours", std::move(colours)},
                                          {"rows", std::move(rows)}});
}

/// All levels that are compared with one baseline, whose bar comes first.
struct Group {
  std::vector<Bar> bars;
  std::set<std::string> treated = {};  // points
};

}  // namespace

bool areHeatMaps(const Grid& grid) { return grid.columns.size() > kColours && levelsOn(grid).size() >= kWide; }

std::vector<Chart> charts(const Plan& plan, const Grid& grid, size_t& left_out) {
  std::vector<Chart> charts;
  const std::string over = grid.row_factors.empty() ? "" : grid.row_factors.back();
  const bool heat = areHeatMaps(grid), ideal = !grid.ideal_over.empty() && grid.ideal_over == over;
  const auto [extent, dots] = extentOf(grid, ideal, heat);
  const std::set<unsigned> levels = levelsOn(grid);
  left_out = !extent.empty() && levels.size() > kMaxPlaces;
  if (extent.empty() || left_out) return charts;
  ValueAxis y = valueAxis(grid.subject, grid.unit, grid.dimension, extent, grid.neutral);
  FactorAxis x = factorAxis(plan, over, levels);
  const double slot = slotOf(x, levels.size(), grid.columns.size());
  // Dots stand aside of their estimate, but within the column's own room.
  const double aside = x.places.empty() ? kDotsAside : std::min(kDotsAside, 0.8 * slot);
  // Too many dots would hide the intervals, and a heat map has no room for any.
  const Frame frame{grid, x, slot, y.factor, ideal, !heat && dots <= kMaxDots};
  Object all{{"x", std::move(x.settings)},
             {"y", std::move(y.settings)},
             {"counted", grid.comparison ? "pairs" : "trials"},
             {"padding", 20 + frame.offset(grid.columns.size() - 1) + aside},
             {"dots_aside", aside},
             {"height", std::min(kMaxHeight, kAround + kRowHeight * int(grid.columns.size()))}};
  if (!grid.column_factor.empty())
    all["series"] = seriesOf(plan, grid.column_factor, {grid.column_levels.begin(), grid.column_levels.end()});
  if (levels.size() <= kMaxWritten) all["written"] = levels.size();

  // Rows are sorted by their factors, so those of one facet stand together.
  for (size_t r = 0; r < grid.rows.size();) {
    const std::string facet = facetOf(grid, grid.rows[r]);
    Data data;
    for (; r < grid.rows.size() && facetOf(grid, grid.rows[r]) == facet; ++r)
      for (size_t column = 0; column < grid.columns.size(); ++column)
        data.add(frame, grid.rows[r].empty() ? "" : grid.rows[r].back(), column, grid.cells[r][column]);
    // A combination in which nothing was measured gets no chart.
    if (data.rows.empty()) continue;
    if (charts.size() == kMaxCharts) {
      ++left_out;
      continue;
    }
    Object study = all;
    if (data.published) study["published"] = jsonText(referencesHere(plan));
    const auto ideals = [&](const auto& test) { return std::ranges::all_of(data.ideals, test); };
    // The ideal of devices that lose nothing to each other is one line if it is the same for all columns, else one for
    // each.
    if (!data.ideals.empty() && ideals([](const auto& at) { return at.second.size() == 1; }))
      study["ideal"] = Object{{"by", Array{"x", "xp"}}, {"colour", Object{{"value", "currentColor"}}}};
    else if (!data.ideals.empty())
      study["ideal"] = Object{{"by", Array{"x", "xp", "s"}}};
    // If the ideal is that nothing changes, its line is the neutral one, and one line is enough.
    study["neutral"] = grid.neutral && (data.ideals.empty() ||
                                        !ideals([&](const auto& at) { return at.second == std::set{*grid.neutral}; }));
    study["dots"] = data.dots;
    study["rows"] = std::move(data.rows);
    charts.push_back({facet, filled(heat ? assets::heatMap() : assets::estimates(), study)});
  }
  return charts;
}

std::vector<Chart> profileCharts(const Plan& plan, const std::vector<describe::Attribution>& all) {
  InOrder<std::string, Group> groups;  // by their baselines
  for (const describe::Attribution& one : all) {
    if (one.views.empty()) continue;
    auto [treated, baseline] = levelNames(plan, one);
    // If several factors differ, the bar is named by all levels of the point.
    if (const Point* point = plan.findPoint(one.treated); point && treated == kThisLevel) treated = plan.label(*point);
    // Further baselines are left out; levels of those that are in still join.
    if (groups.size() == kMaxCharts && !groups.contains(one.baseline)) continue;
    Group& group = groups[one.baseline];
    if (group.bars.empty()) group.bars.push_back(barOf(one.views[0], baseline, false));
    if (group.bars.size() < kMaxBars && group.treated.insert(one.treated).second)
      group.bars.push_back(barOf(one.views[0], treated, true));
  }
  std::vector<Chart> charts;
  for (const auto& [baseline, group] : groups) {
    const Point* point = plan.findPoint(baseline);
    charts.push_back({"against " + (point ? plan.label(*point) : baseline), specification(group.bars)});
  }
  return charts;
}

}  // namespace expc::report
