#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "runtime/analysis/description.h"
#include "runtime/analysis/format.h"
#include "runtime/plan/json.h"
#include "runtime/report/assets.h"
#include "runtime/report/chart.h"

namespace expc::report {
namespace {

using llvm::json::Array;
using llvm::json::Object;

constexpr size_t kMaxPoints = 2000;
/// With more points than this their names would cover them.
constexpr size_t kMaxNamed = 16;

struct DrawnPoint {
  const plan::Point* point;
  const analysis::Summary *x, *y;
};

bool finite(const analysis::Summary* summary) { return summary && summary->median && std::isfinite(*summary->median); }

/// Adds "x", its interval "xl" to "xh", and "xt", which is "12.3 ms [12.1 ms, 12.6 ms]".
void add(const analysis::Summary& summary, const plan::Metric& metric, ValueAxis& axis, const std::string& name,
         Object& row) {
  const auto& interval = summary.interval;
  row[name] = axis.factor * *summary.median;
  row[name + "t"] =
      plan::jsonText(interval ? analysis::formatEstimate(*summary.median, *interval, metric.unit, metric.dimension)
                              : analysis::formatQuantity(*summary.median, metric.unit, metric.dimension) +
                                    fmt::format(" n={}", summary.n));
  if (addEnds(row, name + "l", name + "h", interval, axis.factor)) axis.settings["intervals"] = true;
}

/// The points that none beats in both, as the study's analysis found them.
std::set<std::string> frontOf(const plan::Plot& plot, const analysis::Judgement& judgement) {
  std::set<std::string> points;
  for (const analysis::Front& front : judgement.description->plotted)
    if (front.first == plot.over && front.second == plot.subject && front.beaten > 0)
      for (const analysis::FrontPoint& point : front.points) points.insert(point.point);
  return points;
}

}  // namespace

std::vector<Chart> scatterCharts(const plan::Plan& plan, const analysis::Judgement& judgement, const plan::Plot& plot,
                                 size_t& left_out) {
  left_out = 0;
  std::vector<DrawnPoint> points;
  Extent horizontal, vertical;
  for (const plan::Point& point : plan.points) {
    const DrawnPoint one{&point, judgement.find(point.id, plot.over), judgement.find(point.id, plot.subject)};
    if (!finite(one.x) || !finite(one.y)) continue;
    if (points.size() == kMaxPoints) {
      ++left_out;
      continue;
    }
    points.push_back(one);
    horizontal.add(one.x->median), horizontal.add(one.x->interval);
    vertical.add(one.y->median), vertical.add(one.y->interval);
  }
  if (points.empty()) return {};
  const plan::Metric &across = *plan.findMetric(plot.over), &up = *plan.findMetric(plot.subject);
  ValueAxis x = valueAxis(plot.over, across.unit, across.dimension, horizontal);
  ValueAxis y = valueAxis(plot.subject, up.unit, up.dimension, vertical);
  const std::set<std::string> front = frontOf(plot, judgement);
  Array rows;
  bool named = false;
  std::set<std::string> colours, shapes;
  for (const DrawnPoint& one : points) {
    Object row{{"p", plan::jsonText(plan.label(*one.point))}, {"n", std::min(one.x->n, one.y->n)}};
    add(*one.x, across, x, "x", row);
    add(*one.y, up, y, "y", row);
    if (front.contains(one.point->id)) row["front"] = true;
    std::string rest;  // what neither colour nor shape says
    for (size_t i = 0; i < plan.factors.size(); ++i) {
      const std::string &factor = plan.factors[i].name, label = plan.levelLabel(*one.point, i);
      if (!plot.by.empty() && factor == plot.by[0])
        row["s"] = plan::jsonText(*colours.insert(label).first);
      else if (plot.by.size() > 1 && factor == plot.by[1])
        row["f"] = plan::jsonText(*shapes.insert(label).first);
      else if (plan.factors[i].levels.size() > 1)
        rest += (rest.empty() ? "" : ", ") + factor + "=" + label;
    }
    named = named || !rest.empty();
    row["r"] = plan::jsonText(rest);
    rows.push_back(std::move(row));
  }
  Object study{{"x", std::move(x.settings)},
               {"y", std::move(y.settings)},
               {"front", front.size() > 1},
               {"named", named && rows.size() <= kMaxNamed},
               {"rows", std::move(rows)}};
  if (!plot.by.empty()) study["colour"] = seriesOf(plan, plot.by[0], colours);
  if (plot.by.size() > 1) study["shape"] = seriesOf(plan, plot.by[1], shapes);
  return {{"", filled(assets::scatter(), study)}};
}

}  // namespace expc::report
