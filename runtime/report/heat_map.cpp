#include "runtime/report/heat_map.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/plan/json.h"

namespace expc::report {
namespace {

using llvm::json::Array;
using llvm::json::Object;

constexpr int kRowHeight = 22, kMaxHeight = 900, kAround = 60;
/// With more levels than this across there is no room for numbers in the fields, nor where a field is narrower than
/// this many pixels.
constexpr size_t kMaxWritten = 10;
constexpr size_t kNumberWidth = 36;

Object bands(llvm::StringRef field, const std::vector<std::string>& levels, const std::string& title) {
  Object encoding = fieldOf(field, "ordinal");
  encoding["sort"] = plan::jsonTexts(levels);
  encoding["scale"] = Object{{"type", "band"}, {"domain", plan::jsonTexts(levels)}, {"padding", 0.04}};
  encoding["axis"] = Object{{"title", plan::jsonText(title)}, {"labelAngle", 0},    {"labelLimit", 160},
                            {"labelOverlap", "greedy"},       {"domainOpacity", 0}, {"ticks", false}};
  return encoding;
}

Object colours(const ValueAxis& value) {
  Object scale{{"type", value.log ? "log" : "linear"}, {"scheme", value.neutral ? "blueorange" : "viridis"}};
  if (value.neutral) scale["domainMid"] = value.unit.factor * *value.neutral;
  // On one scale in all charts of a grid.
  double low = value.extent.low, high = value.extent.high;
  if (value.neutral) low = std::min(low, *value.neutral), high = std::max(high, *value.neutral);
  scale["domain"] = Array{value.unit.factor * low, value.unit.factor * high};
  Object encoding = fieldOf("e", "quantitative");
  encoding["scale"] = std::move(scale);
  encoding["legend"] = Object{{"title", plan::jsonText(value.title())}, {"orient", "top"}, {"gradientLength", 220}};
  return encoding;
}

}  // namespace

Object heatMap(const FactorAxis& x, const ValueAxis& value, const Grid& grid, Array cells, Array columns) {
  Object place{{"x", bands("x", x.labels, x.title)}, {"y", bands("s", grid.columns, grid.column_factor)}};
  Object rect = place;
  rect["color"] = colours(value);
  rect["tooltip"] =
      Array{titled("x", "nominal", x.title), titled("s", "nominal", grid.column_factor),
            titled("t", "nominal", grid.subject), titled("n", "quantitative", grid.comparison ? "pairs" : "runs")};
  Array layers{layerOf(Object{{"type", "rect"}}, std::move(rect), "cells")};
  if (x.labels.size() <= kMaxWritten) {
    Object text = std::move(place);
    text["text"] = Object{{"field", "e"}, {"type", "quantitative"}, {"format", ".3~g"}};
    const Object fits{{"expr", fmt::format("width > {} ? 1 : 0", kNumberWidth * x.labels.size())}};
    // Readable on the dark and on the bright end of the colours.
    layers.push_back(layerOf(Object{{"type", "text"},
                                    {"fontSize", 11},
                                    {"color", "#fff"},
                                    {"stroke", "#000"},
                                    {"strokeWidth", 2.5},
                                    {"strokeOpacity", 0.65},
                                    {"strokeJoin", "round"},
                                    {"opacity", Object(fits)}},
                             text, "cells"));
    layers.push_back(layerOf(Object{{"type", "text"}, {"fontSize", 11}, {"color", "#fff"}, {"opacity", Object(fits)}},
                             std::move(text), "cells"));
  }
  const int height = std::min(kMaxHeight, kAround + kRowHeight * static_cast<int>(grid.columns.size()));
  return Object{{"usermeta", Object{{"columns", std::move(columns)}}},
                {"width", "container"},
                {"height", height},
                {"title", noteBelow("colours: estimates; intervals are in the table")},
                {"datasets", Object{{"cells", std::move(cells)}}},
                {"layer", std::move(layers)}};
}

}  // namespace expc::report
