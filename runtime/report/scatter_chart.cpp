#include "runtime/report/scatter_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "runtime/analysis/description.h"
#include "runtime/analysis/format.h"
#include "runtime/plan/json.h"
#include "runtime/report/layout.h"

namespace expc::report {
namespace {

using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;

constexpr size_t kMaxPoints = 2000;
/// With more points than this their names would cover them.
constexpr size_t kMaxNamed = 16;

struct Drawn {
  const plan::Point* point;
  const analysis::Summary *x, *y;
};

struct Frame {
  const plan::Plan& plan;
  const plan::Plot& plot;
  ValueAxis x, y;
  std::vector<Drawn> points;

  const plan::Metric& xMetric() const { return *plan.findMetric(plot.over); }
  const plan::Metric& yMetric() const { return *plan.findMetric(plot.subject); }
};

bool finite(const analysis::Summary* summary) { return summary && summary->median && std::isfinite(*summary->median); }

void addTo(Extent& extent, const analysis::Summary& summary) {
  extent.add(summary.median);
  if (summary.interval) extent.add(summary.interval->low), extent.add(summary.interval->high);
}

/// "12.3 ms [12.1 ms, 12.6 ms]".
std::string textOf(const analysis::Summary& summary, const plan::Metric& metric) {
  return summary.interval ? analysis::formatEstimate(*summary.median, *summary.interval, metric.unit, metric.dimension)
                          : analysis::formatQuantity(*summary.median, metric.unit, metric.dimension) +
                                fmt::format(" n={}", summary.n);
}

/// The levels of a factor that the points have, in order.
std::map<size_t, std::string> levelsOf(const Frame& frame, const std::string& factor) {
  std::map<size_t, std::string> levels;
  for (size_t i = 0; i < frame.plan.factors.size(); ++i)
    if (frame.plan.factors[i].name == factor)
      for (const Drawn& one : frame.points) {
        const std::string label = frame.plan.levelLabel(*one.point, i);
        levels[levelIndex(frame.plan, factor, label)] = label;
      }
  return levels;
}

void addEnds(Object& datum, const analysis::Summary& summary, double factor, const std::string& name) {
  if (!summary.interval || !std::isfinite(summary.interval->low) || !std::isfinite(summary.interval->high)) return;
  datum[name + "l"] = factor * summary.interval->low;
  datum[name + "h"] = factor * summary.interval->high;
}

Object datumOf(const Frame& frame, const Drawn& one) {
  Object datum{{"x", frame.x.unit.factor * *one.x->median},
               {"y", frame.y.unit.factor * *one.y->median},
               {"xt", plan::jsonText(textOf(*one.x, frame.xMetric()))},
               {"yt", plan::jsonText(textOf(*one.y, frame.yMetric()))},
               {"p", plan::jsonText(frame.plan.label(*one.point))},
               {"n", std::min(one.x->n, one.y->n)}};
  std::string rest;  // what neither colour nor shape says
  for (size_t i = 0; i < frame.plan.factors.size(); ++i) {
    const plan::Factor& factor = frame.plan.factors[i];
    const std::string label = frame.plan.levelLabel(*one.point, i);
    const auto at = std::find(frame.plot.by.begin(), frame.plot.by.end(), factor.name) - frame.plot.by.begin();
    if (at == 0 && !frame.plot.by.empty()) datum["s"] = plan::jsonText(label);
    if (at == 1 && frame.plot.by.size() > 1) datum["f"] = plan::jsonText(label);
    if (at > 1 || static_cast<size_t>(at) == frame.plot.by.size())
      if (factor.levels.size() > 1) rest += (rest.empty() ? "" : ", ") + factor.name + "=" + label;
  }
  datum["r"] = plan::jsonText(rest);
  addEnds(datum, *one.x, frame.x.unit.factor, "x");
  addEnds(datum, *one.y, frame.y.unit.factor, "y");
  return datum;
}

Object scaleOf(const std::map<size_t, std::string>& levels, const char* (*lookOf)(size_t)) {
  Array domain, range;
  for (const auto& [look, label] : levels) {
    domain.push_back(plan::jsonText(label));
    range.push_back(lookOf(look));
  }
  return Object{{"domain", std::move(domain)}, {"range", std::move(range)}};
}

Object encodingOf(const Frame& frame, llvm::StringRef x, llvm::StringRef y) {
  Object across = frame.x.encoding(x), up = frame.y.encoding(y);
  across["axis"].getAsObject()->insert({"grid", false});
  Object encoding{{"x", std::move(across)}, {"y", std::move(up)}};
  if (frame.plot.by.empty()) return encoding;
  Object colour = fieldOf("s", "nominal");
  colour["scale"] = scaleOf(levelsOf(frame, frame.plot.by[0]), colourOf);
  colour["legend"] = Object{{"title", plan::jsonText(frame.plot.by[0])}, {"orient", "top"}, {"symbolOpacity", 1}};
  encoding["color"] = std::move(colour);
  return encoding;
}

/// The points that none beats in both, joined; as the study's analysis found them.
Array frontOf(const Frame& frame, const analysis::Judgement& judgement) {
  Array joined;
  for (const analysis::Front& front : judgement.description->plotted) {
    if (front.first != frame.plot.over || front.second != frame.plot.subject || front.beaten == 0) continue;
    for (const analysis::FrontPoint& point : front.points)
      joined.push_back(Object{{"x", frame.x.unit.factor * point.first}, {"y", frame.y.unit.factor * point.second}});
  }
  if (joined.size() < 2) joined.clear();
  return joined;
}

void addIntervals(const Frame& frame, const Array& cells, Array& layers, Object& datasets) {
  for (const char* side : {"x", "y"}) {
    const std::string low = std::string(side) + "l", high = std::string(side) + "h",
                      set = std::string(side) + "_intervals";
    Array with;
    for (const Value& cell : cells)
      if (cell.getAsObject()->get(low)) with.push_back(cell);
    if (with.empty()) continue;
    Object encoding = *side == 'x' ? encodingOf(frame, low, "y") : encodingOf(frame, "x", low);
    encoding[*side == 'x' ? "x2" : "y2"] = Object{{"field", high}};
    layers.push_back(layerOf(Object{{"type", "rule"}, {"strokeWidth", 1.6}}, std::move(encoding), set));
    datasets[set] = std::move(with);
  }
}

Array columnsOf(const Frame& frame) {
  Array columns{Array{"p", "point"}};
  const auto axis = [&](const ValueAxis& of, const std::string& name) {
    const std::string unit = of.unit.symbol.empty() ? "" : fmt::format(" ({})", of.unit.symbol);
    columns.push_back(Array{name, plan::jsonText(of.subject + unit)});
    columns.push_back(Array{name + "l", plan::jsonText(of.subject + " low" + unit)});
    columns.push_back(Array{name + "h", plan::jsonText(of.subject + " high" + unit)});
  };
  axis(frame.x, "x");
  axis(frame.y, "y");
  columns.push_back(Array{"n", "trials"});
  return columns;
}

Object pointLayer(const Frame& frame) {
  Object points = encodingOf(frame, "x", "y");
  if (frame.plot.by.size() > 1) {
    Object shape = fieldOf("f", "nominal");
    shape["scale"] = scaleOf(levelsOf(frame, frame.plot.by[1]), shapeOf);
    shape["legend"] = Object{{"title", plan::jsonText(frame.plot.by[1])},
                             {"orient", "top"},
                             {"symbolFillColor", "currentColor"},
                             {"symbolStrokeColor", "currentColor"}};
    points["shape"] = std::move(shape);
  }
  points["tooltip"] = Array{titled("p", "nominal", "point"), titled("xt", "nominal", frame.plot.over),
                            titled("yt", "nominal", frame.plot.subject), titled("n", "quantitative", "trials")};
  return layerOf(Object{{"type", "point"}, {"filled", true}, {"size", 80}, {"opacity", 1}}, std::move(points), "cells");
}

Object specification(const Frame& frame, const analysis::Judgement& judgement) {
  Array cells, layers;
  Object datasets;
  for (const Drawn& one : frame.points) cells.push_back(datumOf(frame, one));
  Object result{{"usermeta", Object{{"columns", columnsOf(frame)}}}, {"width", "container"}, {"height", 320}};
  if (Array front = frontOf(frame, judgement); !front.empty()) {
    Object encoding = encodingOf(frame, "x", "y");
    encoding.erase("color");
    layers.push_back(
        layerOf(Object{{"type", "line"}, {"color", "currentColor"}, {"opacity", 0.45}, {"strokeDash", Array{6, 4}}},
                std::move(encoding), "front"));
    datasets["front"] = std::move(front);
    result["title"] = noteBelow("dashed: points that none beats in both");
  }
  addIntervals(frame, cells, layers, datasets);
  layers.push_back(pointLayer(frame));
  const bool named = std::any_of(cells.begin(), cells.end(),
                                 [](const Value& cell) { return !cell.getAsObject()->getString("r")->empty(); });
  if (named && cells.size() <= kMaxNamed) {
    Object encoding = encodingOf(frame, "x", "y");
    encoding.erase("color");
    encoding["text"] = fieldOf("r", "nominal");
    layers.push_back(
        layerOf(Object{{"type", "text"}, {"dy", -10}, {"fontSize", 11}, {"color", "currentColor"}, {"opacity", 0.8}},
                std::move(encoding), "cells"));
  }
  datasets["cells"] = std::move(cells);
  result["datasets"] = std::move(datasets);
  result["layer"] = std::move(layers);
  return result;
}

}  // namespace

std::vector<Chart> scatterCharts(const plan::Plan& plan, const analysis::Judgement& judgement, const plan::Plot& plot,
                                 size_t& left_out) {
  left_out = 0;
  Frame frame{plan, plot, {}, {}, {}};
  Extent across, up;
  for (const plan::Point& point : plan.points) {
    const analysis::Summary* x = judgement.find(point.id, plot.over);
    const analysis::Summary* y = judgement.find(point.id, plot.subject);
    if (!finite(x) || !finite(y)) continue;
    if (frame.points.size() == kMaxPoints) {
      ++left_out;
      continue;
    }
    frame.points.push_back({&point, x, y});
    addTo(across, *x);
    addTo(up, *y);
  }
  if (frame.points.empty()) return {};
  frame.x = valueAxis(plot.over, frame.xMetric().unit, frame.xMetric().dimension, across);
  frame.y = valueAxis(plot.subject, frame.yMetric().unit, frame.yMetric().dimension, up);
  return {{"", specification(frame, judgement)}};
}

}  // namespace expc::report
