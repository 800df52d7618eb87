#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "runtime/plan/json.h"
#include "runtime/report/assets.h"
#include "runtime/report/chart.h"
#include "runtime/report/layout.h"

namespace expc::report {
namespace {

using llvm::json::Array;
using llvm::json::Object;

/// Of one plot, so that a page stays a page: with more, places are thinned out further.
constexpr size_t kMaxData = 6000;
/// More curves than eyes follow in one chart.
constexpr size_t kMaxCurves = 40;
/// With more places than this the line alone shows them.
constexpr size_t kMaxMarked = 40;

/// A curve with what its point is called in the chart.
struct DrawnCurve {
  const analysis::Curve* curve;
  const plan::Point* point;
  std::string facet = "", colour = "";
};

/// The facet is made of the factors that vary among the curves' points and are not the colour's.
std::vector<DrawnCurve> drawnOf(const plan::Plan& plan, const std::vector<analysis::Curve>& curves,
                                const plan::Plot& plot) {
  std::vector<DrawnCurve> all;
  for (const analysis::Curve& curve : curves)
    if (const plan::Point* point = curve.metric == plot.subject ? plan.findPoint(curve.point) : nullptr)
      all.push_back({&curve, point});
  for (size_t factor = 0; factor < plan.factors.size(); ++factor) {
    const std::string& name = plan.factors[factor].name;
    const bool colour = !plot.by.empty() && plot.by[0] == name;
    const bool varies = std::ranges::any_of(
        all, [&](const DrawnCurve& one) { return one.point->levels[factor] != all[0].point->levels[factor]; });
    for (DrawnCurve& one : all) {
      const std::string label = plan.levelLabel(*one.point, factor);
      if (colour)
        one.colour = label;
      else if (varies)
        one.facet += (one.facet.empty() ? "" : ", ") + name + "=" + label;
    }
  }
  return all;
}

/// Around a place: its interval where every place has one; else the range, where there is more than one run.
std::optional<stats::Interval> bandOf(const analysis::CurvePlace& place, bool intervals) {
  if (intervals) return place.interval;
  return place.n > 1 ? std::optional(stats::Interval{place.minimum, place.maximum, 1}) : std::nullopt;
}

/// One chart.
struct Facet {
  size_t curves = 0;
  Array rows = {};
};

/// Every `each`th place, and the last.
void addCurve(const DrawnCurve& one, bool intervals, double factor, size_t each, Array& rows) {
  const auto& places = one.curve->places;
  for (size_t i = 0; i < places.size(); ++i) {
    if (i % each != 0 && i + 1 != places.size()) continue;
    Object row{{"p", places[i].place}, {"e", factor * places[i].median}, {"n", places[i].n}};
    if (!one.colour.empty()) row["s"] = plan::jsonText(one.colour);
    addEnds(row, "l", "h", bandOf(places[i], intervals), factor);
    rows.push_back(std::move(row));
  }
}

}  // namespace

std::vector<Chart> curveCharts(const plan::Plan& plan, const std::vector<analysis::Curve>& curves,
                               const plan::Plot& plot, size_t& left_out) {
  left_out = 0;
  std::vector<Chart> charts;
  const std::vector<DrawnCurve> all = drawnOf(plan, curves, plot);
  if (all.empty()) return charts;
  size_t values = 0;
  bool intervals = true;
  unsigned least = ~0u, most = 0;  // trials
  unsigned first = ~0u, last = 1;  // places
  std::set<std::string> levels;    // of the colours
  for (const DrawnCurve& one : all) {
    levels.insert(one.colour);
    values += one.curve->places.size();
    for (const analysis::CurvePlace& place : one.curve->places) {
      intervals = intervals && place.interval;
      least = std::min(least, place.n);
      most = std::max(most, place.n);
      first = std::min(first, place.place);
      last = std::max(last, place.place);
    }
  }
  Extent extent;
  for (const DrawnCurve& one : all)
    for (const analysis::CurvePlace& place : one.curve->places) {
      extent.add(place.median);
      extent.add(bandOf(place, intervals));
    }
  const plan::Metric& metric = *plan.findMetric(plot.subject);
  ValueAxis y = valueAxis(plot.subject, metric.unit, metric.dimension, extent);
  Object study{{"y", std::move(y.settings)},
               {"over", plan::jsonText(plot.over)},
               {"places", Array{first, std::max(last, first + 1)}},
               {"few", last - first < kMaxMarked},
               {"trials", least == most ? counted(most, "trial") : fmt::format("{} to {} trials", least, most)}};
  if (!plot.by.empty()) study["series"] = seriesOf(plan, plot.by[0], levels);
  if (intervals)
    study["band"] =
        Object{{"low", "low"}, {"high", "high"}, {"what", plan::jsonText("its 95 % interval at each " + plot.over)}};
  else if (most > 1)
    study["band"] = Object{{"low", "lowest"}, {"high", "highest"}, {"what", "lowest to highest trial"}};

  InOrder<std::string, Facet> facets;
  for (const DrawnCurve& one : all) {
    const auto at = facets.find(one.facet);
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

}  // namespace expc::report
