// Charts of plots that are not over a factor: a series over its places, and one metric over another. Both thin out or
// leave out data beyond limits, since a page holds all of it as text and draws it in a browser, and count what they
// leave out.

#include <algorithm>
#include <cmath>
#include <set>

#include "runtime/base/find.h"
#include "runtime/base/format.h"
#include "runtime/base/json.h"
#include "runtime/base/numbers.h"
#include "runtime/describe/description.h"
#include "runtime/plan/labels.h"
#include "runtime/report/assets.h"
#include "runtime/report/chart.h"
#include "runtime/report/paint.h"

namespace expc::report {
namespace {

using json::Array;
using json::Object;

// ---- a series over its places

/// The most rows of one plot, so that a page stays a page: beyond this, places are thinned out further.
constexpr size_t kMaxData = 6000;
/// The most curves in one chart that eyes can follow.
constexpr size_t kMaxCurves = 40;
/// Above this many places no marks are drawn: the line alone shows them.
constexpr size_t kMaxMarked = 40;
/// So few places have a tick each.
constexpr unsigned kFewPlaces = 5;

/// A curve, with the names of its chart and its colour.
struct DrawnCurve {
  const describe::Curve* curve;
  const Point* point;
  std::string facet = "", colour = "";
};

/// Returns the curves of the plot's metric. Their facet is made of the factors that vary among them and are not the
/// colour.
std::vector<DrawnCurve> drawnOf(const Plan& plan, const std::vector<describe::Curve>& curves, const plan::Plot& plot) {
  std::vector<DrawnCurve> all;
  for (const describe::Curve& curve : curves)
    if (const Point* point = curve.metric == plot.subject ? plan.findPoint(curve.point) : nullptr)
      all.push_back({&curve, point});
  for (size_t factor = 0; factor < plan.factors.size(); ++factor) {
    const std::string& name = plan.factors[factor].name;
    // A factor that is the colour's is not repeated in the name of the chart.
    const bool colour = !plot.by.empty() && plot.by[0] == name;
    const bool varies = std::ranges::any_of(
        all, [&](const DrawnCurve& one) { return one.point->levels[factor] != all[0].point->levels[factor]; });
    for (DrawnCurve& one : all) {
      const std::string label = plan.levelLabel(*one.point, factor);
      if (colour)
        one.colour = label;
      else if (varies)
        plan::addLabel(one.facet, name, label, ", ");
    }
  }
  return all;
}

/// Returns the band at a place: its interval if every place has one, else the range, if there are several runs.
std::optional<stats::Interval> bandOf(const describe::CurvePlace& place, bool intervals) {
  if (intervals) return place.interval;
  return place.n > 1 ? std::optional(stats::Interval{place.minimum, place.maximum, 1}) : std::nullopt;
}

/// The data of one chart.
struct Facet {
  size_t curves = 0;
  Array rows = {};
};

/// Adds every `each`th place of a curve and the last, which is the result.
void addCurve(const DrawnCurve& one, bool intervals, double factor, size_t each, Array& rows) {
  const auto& places = one.curve->places;
  for (size_t i = 0; i < places.size(); ++i) {
    if (i % each != 0 && i + 1 != places.size()) continue;
    Object row{{"p", places[i].place}, {"e", factor * places[i].median}, {"n", places[i].n}};
    if (!one.colour.empty()) row["s"] = jsonText(one.colour);
    addEnds(row, "l", "h", bandOf(places[i], intervals), factor);
    rows.push_back(std::move(row));
  }
}

// ---- one metric over another

/// The most points of a scatter plot.
constexpr size_t kMaxPoints = 2000;
/// Above this many points no names are drawn: they would cover the points.
constexpr size_t kMaxNamed = 16;

/// A point with its two medians.
struct DrawnPoint {
  const Point* point;
  const judge::Summary *x, *y;
};

/// Whether the median exists and is finite.
bool finite(const judge::Summary* summary) { return summary && summary->median && std::isfinite(*summary->median); }

/// Adds the value as "x", its interval as "xl" and "xh", and its text "12.3 ms [12.1 ms, 12.6 ms]" as "xt"; `name`
/// stands for x.
void add(const judge::Summary& summary, const Metric& metric, ValueAxis& axis, const std::string& name, Object& row) {
  const auto& interval = summary.interval;
  row[name] = axis.factor * *summary.median;
  row[name + "t"] = jsonText(interval ? formatEstimate(*summary.median, *interval, metric.unit, metric.dimension)
                                      : formatQuantity(*summary.median, metric.unit, metric.dimension) +
                                            fmt::format(" n={}", summary.n));
  if (addEnds(row, name + "l", name + "h", interval, axis.factor)) axis.settings["intervals"] = true;
}

/// Returns the levels of a factor that something drawn has.
template <typename Drawn>
std::set<unsigned> levelsAmong(const Plan& plan, const std::vector<Drawn>& all, const std::string& factor) {
  const size_t index = base::findNamed(plan.factors, factor);
  std::set<unsigned> levels;
  for (const Drawn& one : all) levels.insert(one.point->levels[index]);
  return levels;
}

/// The points that none beats in both metrics, as the analysis found them; empty if they beat no other, since
/// then they say nothing.
std::set<std::string> frontOf(const plan::Plot& plot, const Conclusions& judgement) {
  std::set<std::string> points;
  for (const describe::Front& front : judgement.description.plotted)
    if (front.first == plot.over && front.second == plot.subject && front.beaten > 0)
      for (const describe::FrontPoint& point : front.points) points.insert(point.point);
  return points;
}

}  // namespace

std::vector<Chart> curveCharts(const Plan& plan, const std::vector<describe::Curve>& curves, const plan::Plot& plot,
                               size_t& left_out) {
  left_out = 0;
  std::vector<Chart> charts;
  const std::vector<DrawnCurve> all = drawnOf(plan, curves, plot);
  if (all.empty()) return charts;
  // First pass: what all charts share, so that they have one scale and one meaning of the band.
  size_t values = 0;
  bool intervals = true;
  unsigned least = ~0u, most = 0;  // trials
  unsigned first = ~0u, last = 1;  // places
  for (const DrawnCurve& one : all) {
    values += one.curve->places.size();
    for (const describe::CurvePlace& place : one.curve->places) {
      // One place without an interval, and the whole plot shows ranges: a band must mean the same everywhere.
      intervals = intervals && place.interval;
      least = std::min(least, place.n);
      most = std::max(most, place.n);
      first = std::min(first, place.place);
      last = std::max(last, place.place);
    }
  }
  Extent extent;
  for (const DrawnCurve& one : all)
    for (const describe::CurvePlace& place : one.curve->places) {
      extent.add(place.median);
      extent.add(bandOf(place, intervals));
    }
  const Metric& metric = *plan.findMetric(plot.subject);
  ValueAxis y = valueAxis(plot.subject, metric.unit, metric.dimension, extent);
  Object study{{"y", std::move(y.settings)},
               {"over", jsonText(plot.over)},
               {"places", Array{first, std::max(last, first + 1)}},
               {"few", last - first < kMaxMarked},
               {"trials", least == most ? counted(most, "trial") : fmt::format("{} to {} trials", least, most)}};
  if (last - first < kFewPlaces) {
    // Vega puts ticks between two or three whole numbers, whatever the least step of its axis.
    Array ticks;
    for (unsigned place = first; place <= last; ++place) ticks.push_back(place);
    study["ticks"] = std::move(ticks);
  }
  if (!plot.by.empty()) study["series"] = seriesOf(plan, plot.by[0], levelsAmong(plan, all, plot.by[0]));
  if (intervals)
    study["band"] =
        Object{{"low", "low"}, {"high", "high"}, {"what", jsonText("its 95 % interval at each " + plot.over)}};
  else if (most > 1)
    study["band"] = Object{{"low", "lowest"}, {"high", "highest"}, {"what", "lowest to highest trial"}};

  // Second pass: the curves by chart, within the limits.
  InOrder<std::string, Facet> facets;
  for (const DrawnCurve& one : all) {
    const auto at = facets.find(one.facet);
    // A new chart, or a new curve in a chart, beyond the limit is only counted.
    if (at == facets.end() ? facets.size() == kMaxCharts : at->second.curves == kMaxCurves) {
      ++left_out;
      continue;
    }
    Facet& facet = facets[one.facet];
    ++facet.curves;
    addCurve(one, intervals, y.factor, (values + kMaxData - 1) / kMaxData, facet.rows);
  }
  for (auto& [name, facet] : facets) {
    study["rows"] = std::move(facet.rows);
    charts.push_back({name, filled(assets::curves(), study)});
  }
  return charts;
}

std::vector<Chart> scatterCharts(const Plan& plan, const Conclusions& judgement, const plan::Plot& plot,
                                 size_t& left_out) {
  left_out = 0;
  std::vector<DrawnPoint> points;
  Extent horizontal, vertical;
  for (const Point& point : plan.points) {
    const DrawnPoint one{&point, judgement.find(point.id, plot.over), judgement.find(point.id, plot.subject)};
    if (!finite(one.x) || !finite(one.y)) continue;
    // The first points in the plan's order are kept, which is arbitrary but repeatable.
    if (points.size() == kMaxPoints) {
      ++left_out;
      continue;
    }
    points.push_back(one);
    horizontal.add(one.x->median), horizontal.add(one.x->interval);
    vertical.add(one.y->median), vertical.add(one.y->interval);
  }
  if (points.empty()) return {};
  const Metric &across = *plan.findMetric(plot.over), &up = *plan.findMetric(plot.subject);
  ValueAxis x = valueAxis(plot.over, across.unit, across.dimension, horizontal);
  ValueAxis y = valueAxis(plot.subject, up.unit, up.dimension, vertical);
  const std::set<std::string> front = frontOf(plot, judgement);
  Array rows;
  bool named = false;
  for (const DrawnPoint& one : points) {
    Object row{{"p", jsonText(plan.label(*one.point))}, {"n", std::min(one.x->n, one.y->n)}};
    add(*one.x, across, x, "x", row);
    add(*one.y, up, y, "y", row);
    if (front.contains(one.point->id)) row["front"] = true;
    // Each factor appears once: as colour, as shape, or in the point's name.
    std::string rest;  // what neither colour nor shape says
    for (size_t i = 0; i < plan.factors.size(); ++i) {
      const std::string &factor = plan.factors[i].name, label = plan.levelLabel(*one.point, i);
      if (!plot.by.empty() && factor == plot.by[0])
        row["s"] = jsonText(label);
      else if (plot.by.size() > 1 && factor == plot.by[1])
        row["f"] = jsonText(label);
      else if (plan.factors[i].levels.size() > 1)
        plan::addLabel(rest, factor, label, ", ");
    }
    named = named || !rest.empty();
    row["r"] = jsonText(rest);
    rows.push_back(std::move(row));
  }
  Object study{{"x", std::move(x.settings)},
               {"y", std::move(y.settings)},
               // A line needs two points.
               {"front", front.size() > 1},
               {"named", named && rows.size() <= kMaxNamed},
               {"rows", std::move(rows)}};
  if (!plot.by.empty()) study["colour"] = seriesOf(plan, plot.by[0], levelsAmong(plan, points, plot.by[0]));
  if (plot.by.size() > 1) study["shape"] = seriesOf(plan, plot.by[1], levelsAmong(plan, points, plot.by[1]));
  return {{"", filled(assets::scatter(), study)}};
}

}  // namespace expc::report
