#include "runtime/report/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "runtime/plan/json.h"
#include "runtime/report/heat_map.h"
#include "runtime/report/layout.h"

namespace expc::report {
namespace {

using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;

/// The values of single blocks stand this many pixels left of their estimate, or less where there is no room.
constexpr double kDotsAside = 11;
constexpr size_t kMaxDots = 4000;
/// More places on an axis than there are pixels to tell them apart.
constexpr size_t kMaxPlaces = 1000;
/// The pixels that a chart's data have at least, on a narrow screen.
constexpr double kNarrowWidth = 270;

/// Over fewer places than this lines of many colours are still told apart.
constexpr size_t kWide = 3;

/// What all charts of one grid share.
struct Frame {
  const plan::Plan& plan;
  const Grid& grid;
  FactorAxis x;
  ValueAxis y;
  bool heat = false;  // the chart is a heat map
  bool dots = true;
  std::vector<size_t> looks;  // of each column: its level, so that fp32 looks the same in every chart of a page

  bool idealKnown() const { return !grid.ideal_over.empty() && grid.ideal_over == x.title; }

  /// The pixels that a column has at its x.
  double slot() const {
    const double columns = static_cast<double>(std::max<size_t>(1, grid.columns.size()));
    if (x.places.empty())
      return std::clamp(420.0 / (columns * static_cast<double>(std::max<size_t>(1, x.labels.size()))), 9.0, 44.0);
    return std::clamp(x.narrowest() * kNarrowWidth / (columns + 1), 2.0, 12.0);
  }
  double dotsAside() const { return x.places.empty() ? kDotsAside : std::min(kDotsAside, 0.8 * slot()); }
  /// Where a column stands beside its x, in pixels: closer together the more there are.
  double offset(size_t column) const {
    return slot() * (static_cast<double>(column) - 0.5 * static_cast<double>(grid.columns.size() - 1));
  }
};

/// The places on x.
std::set<std::string> labelsOf(const Grid& grid) {
  std::set<std::string> labels;
  for (const auto& row : grid.rows) labels.insert(row.empty() ? "" : row.back());
  return labels;
}

/// Of all that is drawn, and how many dots there are; `estimates`: these alone.
std::pair<Extent, size_t> extentOf(const Grid& grid, bool ideals, bool estimates) {
  Extent extent;
  size_t dots = 0;
  for (const auto& row : grid.cells)
    for (const GridCell& cell : row) {
      if (!cell.estimate) continue;
      extent.add(*cell.estimate);
      if (estimates) continue;
      if (cell.interval) extent.add(cell.interval->low), extent.add(cell.interval->high);
      for (const double value : cell.values) extent.add(value);
      extent.add(cell.published);
      if (ideals) extent.add(cell.ideal);
      dots += cell.values.size();
    }
  return {extent, dots};
}

Object cellDatum(const Frame& frame, const std::string& x, size_t column, const GridCell& cell) {
  const double factor = frame.y.unit.factor;
  Object datum{{"s", plan::jsonText(frame.grid.columns[column])},
               {"o", frame.offset(column)},
               {"e", factor * *cell.estimate},
               {"n", cell.n},
               {"t", plan::jsonText(cellText(cell, frame.grid.unit, frame.grid.dimension, " "))}};
  frame.x.place(datum, x);
  if (cell.interval && std::isfinite(cell.interval->low) && std::isfinite(cell.interval->high)) {
    datum["l"] = factor * cell.interval->low;
    datum["h"] = factor * cell.interval->high;
  }
  if (cell.published) datum["r"] = factor * *cell.published;
  if (cell.ideal && frame.idealKnown()) datum["i"] = factor * *cell.ideal;
  return datum;
}

/// The data of one chart.
struct Data {
  Array cells, dots;
  bool has(llvm::StringRef field) const {
    return std::any_of(cells.begin(), cells.end(), [&](const Value& cell) { return cell.getAsObject()->get(field); });
  }
  Array with(llvm::StringRef field) const {
    Array found;
    for (const Value& cell : cells)
      if (cell.getAsObject()->get(field)) found.push_back(cell);
    return found;
  }
};

/// Encodings that every layer with data shares: position and colour.
Object encodingOf(const Frame& frame, llvm::StringRef y, llvm::StringRef y2 = "") {
  const Grid& grid = frame.grid;
  const double padding = 20 + frame.offset(grid.columns.size() - 1) + frame.dotsAside();
  Object encoding{{"x", frame.x.encoding(padding)}, {"y", frame.y.encoding(y)}};
  if (!y2.empty()) encoding["y2"] = Object{{"field", y2.str()}};
  if (grid.column_factor.empty()) return encoding;
  Array range;
  for (const size_t look : frame.looks) range.push_back(colourOf(look));
  Object colour = fieldOf("s", "nominal");
  colour["scale"] = Object{{"domain", plan::jsonTexts(grid.columns)}, {"range", std::move(range)}};
  colour["legend"] = Object{{"title", plan::jsonText(grid.column_factor)}, {"orient", "top"}, {"symbolOpacity", 1}};
  encoding["color"] = std::move(colour);
  return encoding;
}

/// A mark beside its x, by the datum's pixels.
Object aside(Object mark) {
  mark["xOffset"] = Object{{"expr", "datum.o"}};
  return mark;
}

Object pointLayer(const Frame& frame) {
  const Grid& grid = frame.grid;
  const bool series = !grid.column_factor.empty();
  Object points = encodingOf(frame, "e");
  if (series) {
    Array shapes;
    for (const size_t look : frame.looks) shapes.push_back(shapeOf(look));
    points["shape"] =
        Object{{"field", "s"},
               {"type", "nominal"},
               {"scale", Object{{"domain", plan::jsonTexts(grid.columns)}, {"range", std::move(shapes)}}}};
  }
  Array tooltip{titled("x", "nominal", frame.x.title)};
  if (series) tooltip.push_back(titled("s", "nominal", grid.column_factor));
  tooltip.push_back(titled("t", "nominal", grid.subject));
  tooltip.push_back(titled("n", "quantitative", grid.comparison ? "pairs" : "trials"));
  points["tooltip"] = std::move(tooltip);
  return layerOf(aside(Object{{"type", "point"}, {"filled", true}, {"size", 75}, {"opacity", 1}}), std::move(points),
                 "cells");
}

/// What devices that lose nothing to each other would give: a dashed line, by column where columns differ.
void addIdeal(const Frame& frame, Array ideals, Array& layers, Object& datasets) {
  if (ideals.empty()) return;
  std::set<std::pair<std::string, double>> seen;
  std::set<std::string> places;
  Array once;
  for (const Value& cell : ideals) {
    const Object& datum = *cell.getAsObject();
    const std::string x = datum.getString("x")->str();
    places.insert(x);
    if (seen.emplace(x, *datum.getNumber("i")).second) once.push_back(cell);
  }
  const bool same = seen.size() == places.size();
  Object encoding = encodingOf(frame, "i");
  if (same) encoding.erase("color");
  Object mark{{"type", "line"}, {"strokeDash", Array{6, 4}}, {"opacity", 0.6}, {"clip", true}};
  mark["point"] = Object{{"shape", "stroke"}, {"size", 160}, {"opacity", 0.6}};
  if (same) {
    mark["color"] = "currentColor";
    mark["point"].getAsObject()->insert({"color", "currentColor"});
  }
  Array& shown = same ? once : ideals;
  Object text = encodingOf(frame, "i");
  text.erase("color");
  text["text"] = Object{{"value", "ideal"}};
  layers.push_back(layerOf(std::move(mark), std::move(encoding), "ideal"));
  layers.push_back(layerOf(Object{{"type", "text"}, {"dy", -9}, {"color", "currentColor"}, {"fontSize", 12}},
                           std::move(text), "ideal_end"));
  datasets["ideal_end"] = Array{shown.back()};
  datasets["ideal"] = std::move(shown);
}

/// Whether the line of the ideal is that of no effect: then one is enough.
bool idealIsNeutral(const Grid& grid, const Data& data) {
  const Array ideals = data.with("i");
  return !ideals.empty() && std::all_of(ideals.begin(), ideals.end(), [&](const Value& cell) {
    return cell.getAsObject()->getNumber("i") == grid.neutral;
  });
}

/// The references that have a value here: "table2, table3".
std::string referencesHere(const plan::Plan& plan) {
  std::vector<std::string> names;
  for (const plan::Reference& reference : plan.references)
    if (!reference.values.empty()) names.push_back(reference.name);
  return joined(names);
}

/// What the fields of a cell are called where they are read without the chart. Values are in the axis's unit.
Array columnsOf(const Frame& frame, const Data& data) {
  const Grid& grid = frame.grid;
  const std::string unit = frame.y.unit.symbol.empty() ? "" : fmt::format(" ({})", frame.y.unit.symbol);
  Array columns;
  const auto column = [&](const char* of, const std::string& name) {
    columns.push_back(Array{of, plan::jsonText(name)});
  };
  column("x", frame.x.title);
  if (!grid.column_factor.empty()) column("s", grid.column_factor);
  column("e", grid.subject + unit);
  column("l", "low" + unit);
  column("h", "high" + unit);
  column("n", grid.comparison ? "pairs" : "trials");
  if (data.has("r")) column("r", "published" + unit);
  if (data.has("i")) column("i", "ideal" + unit);
  return columns;
}

Object specification(const Frame& frame, Data data) {
  const Grid& grid = frame.grid;
  if (frame.heat) return heatMap(frame.x, frame.y, grid, std::move(data.cells), columnsOf(frame, data));
  Array layers;
  Object datasets{{"intervals", data.with("l")}};
  if (grid.neutral && !idealIsNeutral(grid, data))
    layers.push_back(Object{
        {"data", Object{{"values", Array{Object{{"r", frame.y.unit.factor * *grid.neutral}}}}}},
        {"mark", Object{{"type", "rule"}, {"strokeDash", Array{4, 3}}, {"color", "currentColor"}, {"opacity", 0.55}}},
        {"encoding", Object{{"y", frame.y.encoding("r")}}}});
  addIdeal(frame, data.with("i"), layers, datasets);
  if (frame.dots && !data.dots.empty())
    layers.push_back(
        layerOf(aside(Object{{"type", "circle"}, {"size", 24}, {"opacity", 0.35}}), encodingOf(frame, "v"), "dots"));
  if (frame.x.numbers)
    layers.push_back(layerOf(aside(Object{{"type", "line"}, {"strokeWidth", 1.2}, {"opacity", 0.55}}),
                             encodingOf(frame, "e"), "cells"));
  layers.push_back(
      layerOf(aside(Object{{"type", "rule"}, {"strokeWidth", 2}}), encodingOf(frame, "l", "h"), "intervals"));
  for (const char* end : {"l", "h"})
    layers.push_back(layerOf(aside(Object{{"type", "tick"}, {"orient", "horizontal"}, {"size", 9}, {"thickness", 1.5}}),
                             encodingOf(frame, end), "intervals"));
  layers.push_back(pointLayer(frame));
  Object result{{"usermeta", Object{{"columns", columnsOf(frame, data)}}}, {"width", "container"}, {"height", 260}};
  if (Array published = data.with("r"); !published.empty()) {
    datasets["published"] = std::move(published);
    layers.push_back(layerOf(
        aside(Object{{"type", "point"}, {"shape", "diamond"}, {"size", 130}, {"filled", false}, {"opacity", 1}}),
        encodingOf(frame, "r"), "published"));
    result["title"] = noteBelow("◇ published (" + referencesHere(frame.plan) + ")");
  }
  datasets["cells"] = std::move(data.cells);
  datasets["dots"] = std::move(data.dots);
  result["datasets"] = std::move(datasets);
  result["layer"] = std::move(layers);
  if (Array parameters = frame.x.parameters(); !parameters.empty()) result["params"] = std::move(parameters);
  return result;
}

/// The factors beyond x: "layout=nhwc, size=32px".
std::string facetOf(const Grid& grid, const std::vector<std::string>& row) {
  std::string text;
  for (size_t i = 0; i + 1 < row.size(); ++i) text += (i ? ", " : "") + grid.row_factors[i] + "=" + row[i];
  return text;
}

void addRow(const Frame& frame, size_t row, Data& data) {
  const Grid& grid = frame.grid;
  const std::string x = grid.rows[row].empty() ? "" : grid.rows[row].back();
  for (size_t c = 0; c < grid.columns.size(); ++c) {
    const GridCell& cell = grid.cells[row][c];
    if (!cell.estimate || !std::isfinite(*cell.estimate)) continue;
    data.cells.push_back(cellDatum(frame, x, c, cell));
    for (const double value : cell.values)
      if (frame.dots && std::isfinite(value)) {
        Object dot{{"s", plan::jsonText(grid.columns[c])},
                   {"o", frame.offset(c) - frame.dotsAside()},
                   {"v", frame.y.unit.factor * value}};
        frame.x.place(dot, x);
        data.dots.push_back(std::move(dot));
      }
  }
}

}  // namespace

bool areHeatMaps(const Grid& grid) { return grid.columns.size() > kColours && labelsOf(grid).size() >= kWide; }

std::vector<Chart> charts(const plan::Plan& plan, const Grid& grid, size_t& left_out) {
  std::vector<Chart> charts;
  left_out = 0;
  const std::string x = grid.row_factors.empty() ? "" : grid.row_factors.back();
  const bool heat = areHeatMaps(grid);
  const auto [extent, dots] = extentOf(grid, !grid.ideal_over.empty() && grid.ideal_over == x, heat);
  if (extent.empty()) return charts;
  const std::set<std::string> labels = labelsOf(grid);
  if (labels.size() > kMaxPlaces) {
    left_out = 1;
    return charts;
  }
  Frame frame{plan,
              grid,
              factorAxis(plan, x, labels),
              valueAxis(grid.subject, grid.unit, grid.dimension, extent, grid.neutral),
              heat,
              !heat && dots <= kMaxDots,
              {}};
  for (const std::string& column : grid.columns) frame.looks.push_back(levelIndex(plan, grid.column_factor, column));

  // Rows come sorted, so those of one facet stand together.
  for (size_t r = 0; r < grid.rows.size();) {
    const std::string facet = facetOf(grid, grid.rows[r]);
    Data data;
    for (; r < grid.rows.size() && facetOf(grid, grid.rows[r]) == facet; ++r) addRow(frame, r, data);
    if (data.cells.empty()) continue;
    if (charts.size() == kMaxCharts)
      ++left_out;
    else
      charts.push_back({facet, specification(frame, std::move(data))});
  }
  return charts;
}

}  // namespace expc::report
