#include "runtime/analysis/curves.h"

#include <algorithm>
#include <cmath>

#include "runtime/analysis/cells.h"
#include "runtime/analysis/readings.h"
#include "runtime/stats/estimators.h"

namespace expc::analysis {
namespace {

using Series = std::vector<const std::vector<double>*>;

/// The series of every valid run.
Series seriesOf(const Index& index, const plan::Metric& metric, const plan::Point& point) {
  const PlaceOutcomes& place = index.of(metric.kind, point.id);
  Series all;
  for (size_t i = 0; i < place.outcomes.size(); ++i) {
    if (!place.outcomes[i].valid()) continue;
    const Reading reading = readMetric(index, metric.name, place, i);
    if (reading.series && !reading.series->empty()) all.push_back(reading.series);
  }
  return all;
}

std::optional<CurvePlace> placeOf(const Series& all, size_t at, bool adapts) {
  std::vector<double> values;
  for (const std::vector<double>* series : all)
    if (at < series->size() && std::isfinite((*series)[at])) values.push_back((*series)[at]);
  if (values.empty()) return std::nullopt;
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  stats::NestedIntervals intervals = stats::orderStatistics(values);
  if (adapts) intervals = intervals.afterWidthStop();
  return CurvePlace{
      static_cast<unsigned>(at + 1),  static_cast<unsigned>(values.size()), *intervals.estimate(), *low, *high,
      intervals.interval(kConfidence)};
}

}  // namespace

std::vector<Curve> curvesOf(const Index& index, const plan::Metric& metric) {
  std::vector<Curve> curves;
  const bool adapts = repetitionsAdapt(index.plan(), metric.kind);
  for (const plan::Point& point : index.plan().points) {
    const Series all = seriesOf(index, metric, point);
    size_t length = 0;
    for (const std::vector<double>* series : all) length = std::max(length, series->size());
    Curve curve{point.id, metric.name, {}};
    const size_t places = std::min(length, kMostCurvePlaces);
    for (size_t i = 0; i < places; ++i) {
      const size_t at = places < 2 ? 0 : i * (length - 1) / (places - 1);
      if (auto place = placeOf(all, at, adapts)) curve.places.push_back(*place);
    }
    if (!curve.places.empty()) curves.push_back(std::move(curve));
  }
  return curves;
}

}  // namespace expc::analysis
