#include "runtime/describe/curves.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>

#include "runtime/judge/cells.h"
#include "runtime/judge/readings.h"
#include "runtime/judge/results.h"
#include "runtime/plan/sketch.h"
#include "runtime/stats/estimators.h"

namespace expc::describe {
namespace {

using Series = std::vector<std::shared_ptr<const std::vector<double>>>;

/// The series of every valid run; of a distribution its percentiles.
Series seriesOf(const judge::Index& index, const Metric& metric, const Point& point) {
  const judge::PlaceOutcomes& place = index.of(metric.kind, point.id);
  Series all;
  for (size_t i = 0; i < place.outcomes.size(); ++i) {
    if (!place.outcomes[i].valid()) continue;
    const judge::Reading reading = judge::readMetric(index, metric.name, place, i);
    if (!reading.series || reading.series->empty()) continue;
    if (reading.sketch)
      all.push_back(std::make_shared<const std::vector<double>>(plan::percentilesOf(*reading.series)));
    else
      all.emplace_back(std::shared_ptr<void>(), reading.series);  // the index's own
  }
  return all;
}

std::optional<CurvePlace> placeOf(const Series& all, size_t at, bool stopped) {
  std::vector<double> values;
  for (const auto& series : all)
    if (at < series->size() && std::isfinite((*series)[at])) values.push_back((*series)[at]);
  if (values.empty()) return std::nullopt;
  const auto [low, high] = std::ranges::minmax_element(values);
  stats::NestedIntervals intervals = stats::orderStatistics(values);
  if (stopped) intervals = intervals.afterWidthStop();
  return CurvePlace{unsigned(at + 1),
                    unsigned(values.size()),
                    *intervals.estimate(),
                    *low,
                    *high,
                    intervals.interval(judge::kConfidence)};
}

}  // namespace

std::vector<Curve> curvesOf(const judge::Index& index, const Metric& metric) {
  std::vector<Curve> curves;
  for (const Point& point : index.plan().points) {
    const Series all = seriesOf(index, metric, point);
    std::vector<int64_t> runs;
    for (const judge::Outcome& outcome : index.of(metric.kind, point.id).outcomes) runs.push_back(outcome.run);
    const bool stopped = judge::stoppedByWidth(index, metric.kind, runs);
    size_t length = 0;
    for (const auto& series : all) length = std::max(length, series->size());
    Curve curve{point.id, metric.name, {}};
    const size_t places = std::min(length, kMostCurvePlaces);
    for (size_t i = 0; i < places; ++i) {
      const size_t at = places < 2 ? 0 : i * (length - 1) / (places - 1);
      if (auto place = placeOf(all, at, stopped)) curve.places.push_back(*place);
    }
    if (!curve.places.empty()) curves.push_back(std::move(curve));
  }
  return curves;
}

}  // namespace expc::describe
