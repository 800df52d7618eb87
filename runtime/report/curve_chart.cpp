#include "runtime/report/curve_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "runtime/plan/json.h"
#include "runtime/report/layout.h"

namespace expc::report {
namespace {

using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;

/// Of one plot, so that a page stays a page: with more, places are thinned out further.
constexpr size_t kMaxData = 6000;
/// More curves than eyes follow in one chart.
constexpr size_t kMaxCurves = 40;
/// With more places than this the line alone shows them.
constexpr size_t kMaxMarked = 40;

enum class Band { None, Interval, Range };

/// A curve with what its point is called in the chart.
struct Drawn {
  const analysis::Curve* curve;
  std::string facet, colour;
  size_t look = 0;
};

struct Frame {
  const plan::Plot& plot;
  ValueAxis y;
  Band band = Band::None;
  unsigned least = ~0u, most = 0;   // trials
  size_t each = 1;                  // of the places, every this many is drawn
  unsigned first = ~0u, last = 1;   // places
  std::vector<std::string> levels;  // of the colours
  std::vector<size_t> looks;
};

/// The factors that vary among the curves' points and are not the colour's.
std::vector<size_t> facetFactors(const plan::Plan& plan, const std::vector<const plan::Point*>& points,
                                 const std::string& colour) {
  std::vector<size_t> factors;
  for (size_t i = 0; i < plan.factors.size(); ++i) {
    const bool varies = std::any_of(points.begin(), points.end(),
                                    [&](const plan::Point* point) { return point->levels[i] != points[0]->levels[i]; });
    if (varies && plan.factors[i].name != colour) factors.push_back(i);
  }
  return factors;
}

std::vector<Drawn> drawnOf(const plan::Plan& plan, const std::vector<analysis::Curve>& curves, const plan::Plot& plot) {
  std::vector<const plan::Point*> points;
  std::vector<Drawn> all;
  for (const analysis::Curve& curve : curves) {
    const plan::Point* point = curve.metric == plot.subject ? plan.findPoint(curve.point) : nullptr;
    if (!point) continue;
    points.push_back(point);
    all.push_back({&curve, "", "", 0});
  }
  const std::string colour = plot.by.empty() ? "" : plot.by[0];
  const std::vector<size_t> facets = points.empty() ? std::vector<size_t>() : facetFactors(plan, points, colour);
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t factor = 0; factor < plan.factors.size(); ++factor) {
      const std::string label = plan.levelLabel(*points[i], factor);
      if (plan.factors[factor].name == colour) {
        all[i].colour = label;
        all[i].look = levelIndex(plan, colour, label);
      }
      if (std::count(facets.begin(), facets.end(), factor))
        all[i].facet += (all[i].facet.empty() ? "" : ", ") + plan.factors[factor].name + "=" + label;
    }
  }
  return all;
}

/// An interval where every place has one; else the range, where there is more than one run.
Band bandOf(const std::vector<Drawn>& all) {
  bool intervals = true, several = false;
  for (const Drawn& one : all)
    for (const analysis::CurvePlace& place : one.curve->places) {
      intervals = intervals && place.interval;
      several = several || place.n > 1;
    }
  return intervals ? Band::Interval : several ? Band::Range : Band::None;
}

std::optional<std::pair<double, double>> endsOf(const analysis::CurvePlace& place, Band band) {
  if (band == Band::Interval) return std::pair(place.interval->low, place.interval->high);
  if (band == Band::Range && place.n > 1) return std::pair(place.minimum, place.maximum);
  return std::nullopt;
}

Frame frameOf(const plan::Plan& plan, const plan::Plot& plot, const std::vector<Drawn>& all) {
  Frame frame{plot, {}, bandOf(all), ~0u, 0, 1, ~0u, 1, {}, {}};
  Extent extent;
  size_t places = 0;
  std::map<size_t, std::string> levels;
  for (const Drawn& one : all) {
    levels.emplace(one.look, one.colour);
    places += one.curve->places.size();
    for (const analysis::CurvePlace& place : one.curve->places) {
      extent.add(place.median);
      if (const auto ends = endsOf(place, frame.band)) extent.add(ends->first), extent.add(ends->second);
      frame.least = std::min(frame.least, place.n);
      frame.most = std::max(frame.most, place.n);
      frame.first = std::min(frame.first, place.place);
      frame.last = std::max(frame.last, place.place);
    }
  }
  for (const auto& [look, level] : levels) {
    frame.looks.push_back(look);
    frame.levels.push_back(level);
  }
  const plan::Metric& metric = *plan.findMetric(plot.subject);
  frame.y = valueAxis(plot.subject, metric.unit, metric.dimension, extent);
  frame.each = (places + kMaxData - 1) / kMaxData;
  return frame;
}

void addCurve(const Frame& frame, const Drawn& one, Array& cells) {
  const double factor = frame.y.unit.factor;
  const auto& places = one.curve->places;
  for (size_t i = 0; i < places.size(); ++i) {
    if (i % frame.each != 0 && i + 1 != places.size()) continue;
    Object datum{{"p", places[i].place}, {"e", factor * places[i].median}, {"n", places[i].n}};
    if (!one.colour.empty()) datum["s"] = plan::jsonText(one.colour);
    if (const auto ends = endsOf(places[i], frame.band)) {
      datum["l"] = factor * ends->first;
      datum["h"] = factor * ends->second;
    }
    cells.push_back(std::move(datum));
  }
}

Object encodingOf(const Frame& frame, llvm::StringRef y, llvm::StringRef y2 = "") {
  Object x = fieldOf("p", "quantitative");
  x["scale"] =
      Object{{"domain", Array{frame.first, std::max(frame.last, frame.first + 1)}}, {"nice", false}, {"zero", false}};
  x["axis"] = Object{{"title", plan::jsonText(frame.plot.over)}, {"grid", false}, {"tickMinStep", 1}, {"format", "d"}};
  Object encoding{{"x", std::move(x)}, {"y", frame.y.encoding(y)}};
  if (!y2.empty()) encoding["y2"] = Object{{"field", y2.str()}};
  if (frame.plot.by.empty()) return encoding;
  Array range;
  for (const size_t look : frame.looks) range.push_back(colourOf(look));
  Object colour = fieldOf("s", "nominal");
  colour["scale"] = Object{{"domain", plan::jsonTexts(frame.levels)}, {"range", std::move(range)}};
  colour["legend"] = Object{{"title", plan::jsonText(frame.plot.by[0])}, {"orient", "top"}, {"symbolOpacity", 1}};
  encoding["color"] = std::move(colour);
  return encoding;
}

/// "line: median of 3 trials; band: lowest to highest trial".
std::string noteOf(const Frame& frame) {
  const std::string trials = frame.least == frame.most ? counted(frame.most, "trial")
                                                       : fmt::format("{} to {} trials", frame.least, frame.most);
  if (frame.most == 1) return "line: one run";
  std::string text = "line: median of " + trials;
  if (frame.band == Band::Interval) text += "; band: its 95 % interval at each " + frame.plot.over;
  if (frame.band == Band::Range) text += "; band: lowest to highest trial";
  return text;
}

Array columnsOf(const Frame& frame) {
  const std::string unit = frame.y.unit.symbol.empty() ? "" : fmt::format(" ({})", frame.y.unit.symbol);
  Array columns{Array{"p", plan::jsonText(frame.plot.over)}};
  if (!frame.plot.by.empty()) columns.push_back(Array{"s", plan::jsonText(frame.plot.by[0])});
  columns.push_back(Array{"e", plan::jsonText("median " + frame.plot.subject + unit)});
  const bool range = frame.band == Band::Range;
  if (frame.band != Band::None) {
    columns.push_back(Array{"l", plan::jsonText((range ? "lowest" : "low") + unit)});
    columns.push_back(Array{"h", plan::jsonText((range ? "highest" : "high") + unit)});
  }
  columns.push_back(Array{"n", "trials"});
  return columns;
}

Object specification(const Frame& frame, Array cells) {
  Array layers;
  if (frame.band != Band::None)
    layers.push_back(layerOf(Object{{"type", "area"}, {"opacity", 0.18}}, encodingOf(frame, "l", "h"), "cells"));
  Object line{{"type", "line"}, {"strokeWidth", 2}};
  if (frame.last - frame.first < kMaxMarked) line["point"] = Object{{"size", 26}, {"filled", true}};
  Object encoding = encodingOf(frame, "e");
  Array tooltip{titled("p", "quantitative", frame.plot.over)};
  if (!frame.plot.by.empty()) tooltip.push_back(titled("s", "nominal", frame.plot.by[0]));
  tooltip.push_back(titled("e", "quantitative", frame.y.title()));
  tooltip.push_back(titled("n", "quantitative", "trials"));
  encoding["tooltip"] = std::move(tooltip);
  layers.push_back(layerOf(std::move(line), std::move(encoding), "cells"));
  return Object{{"usermeta", Object{{"columns", columnsOf(frame)}}},
                {"width", "container"},
                {"height", 260},
                {"title", noteBelow(noteOf(frame))},
                {"datasets", Object{{"cells", std::move(cells)}}},
                {"layer", std::move(layers)}};
}

}  // namespace

std::vector<Chart> curveCharts(const plan::Plan& plan, const std::vector<analysis::Curve>& curves,
                               const plan::Plot& plot, size_t& left_out) {
  left_out = 0;
  std::vector<Chart> charts;
  const std::vector<Drawn> all = drawnOf(plan, curves, plot);
  if (all.empty()) return charts;
  const Frame frame = frameOf(plan, plot, all);
  std::vector<std::pair<std::string, Array>> facets;
  std::map<std::string, size_t> drawn;  // curves after the first, by facet
  for (const Drawn& one : all) {
    auto at = std::find_if(facets.begin(), facets.end(), [&](const auto& facet) { return facet.first == one.facet; });
    if (at != facets.end() && ++drawn[one.facet] >= kMaxCurves) {
      ++left_out;
      continue;
    }
    if (at == facets.end()) {
      if (facets.size() == kMaxCharts) {
        ++left_out;
        continue;
      }
      at = facets.insert(facets.end(), {one.facet, {}});
    }
    addCurve(frame, one, at->second);
  }
  for (auto& [facet, cells] : facets) charts.push_back({facet, specification(frame, std::move(cells))});
  return charts;
}

}  // namespace expc::report
