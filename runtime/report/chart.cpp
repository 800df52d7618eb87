#include "runtime/report/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "runtime/plan/json.h"

namespace expc::report {
namespace {

using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;

/// Okabe and Ito's palette, told apart by people with any of the common colour deficiencies; yellow is left out for
/// white paper.
constexpr const char* kPalette[] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                    "#E69F00", "#56B4E9", "#8C6D31", "#7F7F7F"};
constexpr const char* kShapes[] = {"circle", "square", "triangle-up", "diamond", "triangle-down", "cross"};
/// The values of single blocks stand this many pixels left of their estimate.
constexpr double kDotsAside = 11;
constexpr size_t kMaxDots = 4000;
/// More places on an axis than there are pixels to tell them apart.
constexpr size_t kMaxPlaces = 1000;
/// Metrics whose largest value is more than this many times the smallest get a logarithmic axis.
constexpr double kLogSpread = 30;

struct Extent {
  double low = HUGE_VAL, high = -HUGE_VAL;
  size_t dots = 0;
  void add(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return low > high; }
};

Extent extentOf(const Grid& grid) {
  Extent extent;
  for (const auto& row : grid.cells)
    for (const GridCell& cell : row) {
      if (!cell.estimate) continue;
      extent.add(*cell.estimate);
      if (cell.interval) extent.add(cell.interval->low), extent.add(cell.interval->high);
      for (const double value : cell.values) extent.add(value);
      extent.dots += cell.values.size();
    }
  return extent;
}

bool isNumber(const std::string& label) { return !label.empty() && std::isdigit(static_cast<unsigned char>(label[0])); }

/// What all charts of one grid share.
struct Frame {
  const Grid& grid;
  AxisUnit unit;
  Extent extent;
  bool log = false, dots = true, lines = false;
  std::vector<std::string> xs;  // labels in order
  std::string x_title;
  std::vector<size_t> looks;  // of each column: its level, so that fp32 looks the same in every chart of a page

  /// Where a column stands beside its x, in pixels: closer together the more there are.
  double offset(size_t column) const {
    const double slots = static_cast<double>(std::max<size_t>(1, grid.columns.size() * std::max<size_t>(1, xs.size())));
    const double step = std::clamp(420.0 / slots, 9.0, 44.0);
    return step * (static_cast<double>(column) - 0.5 * static_cast<double>(grid.columns.size() - 1));
  }

  Object yScale() const {
    double low = extent.low, high = extent.high;
    if (grid.neutral) low = std::min(low, *grid.neutral), high = std::max(high, *grid.neutral);
    if (log) {
      const double pad = std::max(0.03, 0.06 * std::log(high / low));
      return Object{{"type", "log"},
                    {"domain", Array{unit.factor * low * std::exp(-pad), unit.factor * high * std::exp(pad)}},
                    {"nice", false}};
    }
    // Zero belongs to the axis of a magnitude unless the values are close together and far from it.
    const bool zero = !grid.neutral && low >= 0 && low < 0.6 * high;
    const double pad = high > low ? 0.08 * (high - low) : std::max(0.05 * std::fabs(high), 1e-12);
    return Object{{"domain", Array{unit.factor * (zero ? 0 : low - pad), unit.factor * (high + pad)}},
                  {"nice", true},
                  {"zero", zero}};
  }
};

Object cellDatum(const Frame& frame, const std::string& x, size_t column, const GridCell& cell) {
  Object datum{{"x", plan::jsonText(x)},
               {"s", plan::jsonText(frame.grid.columns[column])},
               {"o", frame.offset(column)},
               {"e", frame.unit.factor * *cell.estimate},
               {"n", cell.n},
               {"t", plan::jsonText(cellText(cell, frame.grid.unit, frame.grid.dimension, " "))}};
  if (cell.interval && std::isfinite(cell.interval->low) && std::isfinite(cell.interval->high)) {
    datum["l"] = frame.unit.factor * cell.interval->low;
    datum["h"] = frame.unit.factor * cell.interval->high;
  }
  return datum;
}

Object field(llvm::StringRef name, llvm::StringRef type) { return Object{{"field", name}, {"type", type}}; }

/// Encodings that every layer with data shares: position and colour.
Object sharedEncoding(const Frame& frame) {
  const Grid& grid = frame.grid;
  Object x = field("x", "ordinal");
  x["sort"] = plan::jsonTexts(frame.xs);
  x["scale"] = Object{{"type", "point"}, {"domain", plan::jsonTexts(frame.xs)}, {"padding", 0.5}};
  x["axis"] = Object{{"title", plan::jsonText(frame.x_title)}, {"labelAngle", 0}, {"grid", false}, {"labelLimit", 160}};
  Object encoding{{"x", std::move(x)}};
  Object offset = field("o", "quantitative");
  offset["scale"] = Object{{"domain", Array{-200, 200}}, {"range", Array{-200, 200}}, {"zero", false}, {"nice", false}};
  encoding["xOffset"] = std::move(offset);
  if (!grid.column_factor.empty()) {
    Array range;
    for (const size_t look : frame.looks) range.push_back(kPalette[look % std::size(kPalette)]);
    Object colour = field("s", "nominal");
    colour["scale"] = Object{{"domain", plan::jsonTexts(grid.columns)}, {"range", std::move(range)}};
    colour["legend"] = Object{{"title", plan::jsonText(grid.column_factor)}, {"orient", "top"}, {"symbolOpacity", 1}};
    encoding["color"] = std::move(colour);
  }
  return encoding;
}

Object yEncoding(const Frame& frame, llvm::StringRef name) {
  const std::string title =
      frame.unit.symbol.empty() ? frame.grid.subject : fmt::format("{} ({})", frame.grid.subject, frame.unit.symbol);
  Object y = field(name, "quantitative");
  y["scale"] = frame.yScale();
  y["axis"] = Object{{"title", plan::jsonText(title)}, {"tickCount", 6}};
  return y;
}

Object layer(Object mark, Object encoding, llvm::StringRef data) {
  return Object{{"data", Object{{"name", data}}}, {"mark", std::move(mark)}, {"encoding", std::move(encoding)}};
}

Object specification(const Frame& frame, Array cells, Array dots) {
  const Grid& grid = frame.grid;
  const bool series = !grid.column_factor.empty();
  const auto with = [&](llvm::StringRef y, llvm::StringRef y2 = "") {
    Object encoding = sharedEncoding(frame);
    encoding["y"] = yEncoding(frame, y);
    if (!y2.empty()) encoding["y2"] = Object{{"field", y2}};
    return encoding;
  };
  Array layers;
  if (grid.neutral)
    layers.push_back(Object{
        {"data", Object{{"values", Array{Object{{"r", frame.unit.factor * *grid.neutral}}}}}},
        {"mark", Object{{"type", "rule"}, {"strokeDash", Array{4, 3}}, {"color", "currentColor"}, {"opacity", 0.55}}},
        {"encoding", Object{{"y", yEncoding(frame, "r")}}}});
  if (frame.dots && !dots.empty())
    layers.push_back(layer(Object{{"type", "circle"}, {"size", 24}, {"opacity", 0.35}}, with("v"), "dots"));
  if (frame.lines)
    layers.push_back(layer(Object{{"type", "line"}, {"strokeWidth", 1.2}, {"opacity", 0.55}}, with("e"), "cells"));
  layers.push_back(layer(Object{{"type", "errorbar"}, {"ticks", Object{{"size", 9}}}, {"rule", Object{{"size", 2}}}},
                         with("l", "h"), "intervals"));
  Object points = with("e");
  if (series) {
    Array shapes;
    for (const size_t look : frame.looks) shapes.push_back(kShapes[look % std::size(kShapes)]);
    points["shape"] =
        Object{{"field", "s"},
               {"type", "nominal"},
               {"scale", Object{{"domain", plan::jsonTexts(grid.columns)}, {"range", std::move(shapes)}}}};
  }
  Array tooltip{Object{{"field", "x"}, {"type", "nominal"}, {"title", plan::jsonText(frame.x_title)}}};
  if (series)
    tooltip.push_back(Object{{"field", "s"}, {"type", "nominal"}, {"title", plan::jsonText(grid.column_factor)}});
  tooltip.push_back(Object{{"field", "t"}, {"type", "nominal"}, {"title", plan::jsonText(grid.subject)}});
  tooltip.push_back(Object{{"field", "n"}, {"type", "quantitative"}, {"title", grid.comparison ? "pairs" : "runs"}});
  points["tooltip"] = std::move(tooltip);
  layers.push_back(
      layer(Object{{"type", "point"}, {"filled", true}, {"size", 75}, {"opacity", 1}}, std::move(points), "cells"));

  Array intervals;
  for (const Value& cell : cells)
    if (cell.getAsObject()->get("l")) intervals.push_back(cell);
  // What the fields of a cell are called where they are read without the chart. Values are in the axis's unit.
  const std::string unit = frame.unit.symbol.empty() ? "" : fmt::format(" ({})", frame.unit.symbol);
  Array columns;
  const auto column = [&](const char* of, const std::string& name) {
    columns.push_back(Array{of, plan::jsonText(name)});
  };
  column("x", frame.x_title);
  if (series) column("s", grid.column_factor);
  column("e", grid.subject + unit);
  column("l", "low" + unit);
  column("h", "high" + unit);
  column("n", grid.comparison ? "pairs" : "runs");
  return Object{
      {"usermeta", Object{{"columns", std::move(columns)}}},
      {"width", "container"},
      {"height", 260},
      {"datasets", Object{{"cells", std::move(cells)}, {"intervals", std::move(intervals)}, {"dots", std::move(dots)}}},
      {"layer", std::move(layers)}};
}

}  // namespace

AxisUnit axisUnit(const std::string& unit, const std::string& dimension, double largest) {
  if (dimension == "share") return {100, "%"};
  if (unit == "x") return {1, "×"};
  struct Step {
    double from, size;
    const char* symbol;
  };
  const auto pick = [&](std::initializer_list<Step> steps) {
    const Step* best = steps.begin();
    for (const Step& step : steps)
      if (largest >= step.from) best = &step;
    return AxisUnit{1 / best->size, best->symbol};
  };
  // Minutes and hours start late, so that 90 s is not 1.5 min.
  if (unit == "s")
    return pick(
        {{0, 1e-9, "ns"}, {1e-6, 1e-6, "µs"}, {1e-3, 1e-3, "ms"}, {1, 1, "s"}, {300, 60, "min"}, {7200, 3600, "h"}});
  if (unit == "B")
    return pick({{0, 1, "B"},
                 {0x1p10, 0x1p10, "KiB"},
                 {0x1p20, 0x1p20, "MiB"},
                 {0x1p30, 0x1p30, "GiB"},
                 {0x1p40, 0x1p40, "TiB"}});
  return {1, unit};
}

std::vector<Chart> charts(const plan::Plan& plan, const Grid& grid, size_t& left_out) {
  std::vector<Chart> charts;
  left_out = 0;
  const Extent extent = extentOf(grid);
  if (extent.empty()) return charts;
  Frame frame{grid,
              axisUnit(grid.unit, grid.dimension, std::max(std::fabs(extent.low), std::fabs(extent.high))),
              extent,
              false,
              extent.dots <= kMaxDots,
              false,
              {},
              {},
              {}};
  for (const std::string& column : grid.columns) frame.looks.push_back(levelIndex(plan, grid.column_factor, column));
  frame.log = extent.low > 0 && (grid.neutral == 1.0 || extent.high > kLogSpread * extent.low);
  frame.x_title = grid.row_factors.empty() ? "" : grid.row_factors.back();

  std::set<std::string> labels;
  for (const auto& row : grid.rows) labels.insert(row.empty() ? "" : row.back());
  if (labels.size() > kMaxPlaces) {
    left_out = 1;
    return charts;
  }
  std::set<std::pair<size_t, std::string>> xs;
  for (const std::string& label : labels) xs.emplace(levelIndex(plan, frame.x_title, label), label);
  for (const auto& [index, label] : xs) frame.xs.push_back(label);
  frame.lines = frame.xs.size() > 1 && std::all_of(frame.xs.begin(), frame.xs.end(), isNumber);

  // Rows come sorted, so those of one facet stand together.
  const auto facetOf = [&](const std::vector<std::string>& row) {
    std::string text;
    for (size_t i = 0; i + 1 < row.size(); ++i) text += (i ? ", " : "") + grid.row_factors[i] + "=" + row[i];
    return text;
  };
  for (size_t r = 0; r < grid.rows.size();) {
    const std::string facet = facetOf(grid.rows[r]);
    Array cells, dots;
    for (; r < grid.rows.size() && facetOf(grid.rows[r]) == facet; ++r)
      for (size_t c = 0; c < grid.columns.size(); ++c) {
        const GridCell& cell = grid.cells[r][c];
        if (!cell.estimate || !std::isfinite(*cell.estimate)) continue;
        const std::string x = grid.rows[r].empty() ? "" : grid.rows[r].back();
        cells.push_back(cellDatum(frame, x, c, cell));
        for (const double value : cell.values)
          if (frame.dots && std::isfinite(value))
            dots.push_back(Object{{"x", plan::jsonText(x)},
                                  {"s", plan::jsonText(grid.columns[c])},
                                  {"o", frame.offset(c) - kDotsAside},
                                  {"v", frame.unit.factor * value}});
      }
    if (cells.empty()) continue;
    if (charts.size() == kMaxCharts) {
      ++left_out;
      continue;
    }
    charts.push_back({facet, specification(frame, std::move(cells), std::move(dots))});
  }
  return charts;
}

}  // namespace expc::report
