#include "runtime/analysis/description.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "runtime/analysis/cells.h"
#include "runtime/analysis/readings.h"
#include "runtime/plan/evaluate.h"
#include "runtime/stats/distributions.h"
#include "runtime/stats/estimators.h"
#include "runtime/stats/procedures.h"

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

std::optional<CurvePlace> placeOf(const Series& all, size_t at, bool stopped) {
  std::vector<double> values;
  for (const std::vector<double>* series : all)
    if (at < series->size() && std::isfinite((*series)[at])) values.push_back((*series)[at]);
  if (values.empty()) return std::nullopt;
  const auto [low, high] = std::ranges::minmax_element(values);
  stats::NestedIntervals intervals = stats::orderStatistics(values);
  if (stopped) intervals = intervals.afterWidthStop();
  return CurvePlace{
      static_cast<unsigned>(at + 1),  static_cast<unsigned>(values.size()), *intervals.estimate(), *low, *high,
      intervals.interval(kConfidence)};
}

struct Measured {
  Ranked ranked;
  std::vector<PointValue> values;
};

std::vector<double> plain(const std::vector<PointValue>& values) {
  std::vector<double> plain;
  for (const PointValue& value : values) plain.push_back(value.value);
  return plain;
}

double medianOf(const std::vector<double>& values) { return *stats::orderStatistics(values).estimate(); }

bool better(const plan::Metric& metric, double a, double b) {
  return metric.better == plan::Direction::Lower ? a < b : a > b;
}

size_t pairsOf(size_t points) { return points * (points - 1) / 2; }

/// Whether the blocks that both points have do not tell them apart at `confidence`. An exact metric compares its values
/// directly.
bool sharesRank(const plan::Metric& metric, const std::vector<PointValue>& a, const std::vector<PointValue>& b,
                double confidence) {
  std::map<std::pair<int64_t, int64_t>, double> of_a;
  for (const PointValue& value : a) of_a[{value.block, value.session}] = value.value;
  std::vector<double> differences;
  for (const PointValue& value : b)
    if (const auto found = of_a.find({value.block, value.session}); found != of_a.end())
      differences.push_back(value.value - found->second);
  if (const auto interval = stats::signedRank(differences).interval(confidence))
    return interval->low <= 0 && interval->high >= 0;
  if (!metric.exact) return true;
  const auto less = [](const PointValue& x, const PointValue& y) { return x.value < y.value; };
  const auto [low_a, high_a] = std::ranges::minmax_element(a, less);
  const auto [low_b, high_b] = std::ranges::minmax_element(b, less);
  return low_a->value <= high_b->value && low_b->value <= high_a->value;
}

std::map<std::string, double> mediansOf(const Index& index, const plan::Metric& metric) {
  std::map<std::string, double> medians;
  for (const plan::Point& point : index.plan().points)
    if (const std::vector<PointValue> values = valuesAt(index, metric, point); !values.empty())
      medians[point.id] = medianOf(plain(values));
  return medians;
}

/// Collects the points of the study's plots that are neither an estimate nor a comparison.
void describePlots(const Index& index, Description& description) {
  const plan::Plan& plan = index.plan();
  std::set<std::string> series;
  for (const plan::Plot& plot : plan.plots) {
    const plan::Metric *subject = plan.findMetric(plot.subject), *over = plan.findMetric(plot.over);
    if (plot.kind(plan) == plan::PlotKind::Metrics && over->better && subject->better)
      description.plotted.push_back(paretoFront(index, *over, *subject));
    if (plot.kind(plan) != plan::PlotKind::Series || !series.insert(plot.subject).second) continue;
    std::vector<Curve> curves = curvesOf(index, *subject);
    description.curves.insert(description.curves.end(), std::make_move_iterator(curves.begin()),
                              std::make_move_iterator(curves.end()));
  }
}

/// Appends what a table asks for, whether or not it would be worth saying by itself.
void describeAsked(const Index& index, Description& description) {
  using Shows = plan::Table::Shows;
  const auto lacks = [](const auto& all, auto is) { return std::ranges::none_of(all, is); };
  for (const plan::Table& table : index.plan().tables) {
    const plan::Metric *metric = index.plan().findMetric(table.subject), *other = index.plan().findMetric(table.other);
    const auto named = [&](const auto& one) { return one.metric == table.subject; };
    if (table.shows == Shows::Effects && metric && lacks(description.effects, named))
      if (auto effects = effectsOn(index, *metric)) description.effects.push_back(std::move(*effects));
    if (table.shows == Shows::Ranking && metric && lacks(description.rankings, named))
      description.rankings.push_back({metric->name, rank(index, *metric)});
    if (table.shows == Shows::Front && metric && other &&
        lacks(description.fronts, [&](const Front& one) { return one.isOf(table); }))
      description.fronts.push_back(paretoFront(index, *metric, *other));
  }
}

// How a metric drifts over the blocks.

constexpr unsigned kFewest = 4;       // levels that a drift is seen in
constexpr size_t kMostLevels = 1000;  // of which all pairs are looked at: half a million
constexpr double kApart = 3;          // spreads by which a first block is apart from the others

/// The mean logarithm of each block that has every point, less the points' own; empty where a value has none.
std::vector<double> levelsOf(const Index& index, const plan::Metric& metric) {
  std::map<std::pair<int64_t, int64_t>, std::vector<double>> blocks;
  size_t points = 0;
  for (const plan::Point& point : index.plan().points) {
    const std::vector<PointValue> values = valuesAt(index, metric, point);
    if (values.empty()) continue;
    ++points;
    std::vector<double> logs;
    for (const PointValue& value : values) {
      if (value.value <= 0) return {};
      logs.push_back(std::log(value.value));
    }
    const double centre = medianOf(logs);
    for (size_t i = 0; i < values.size(); ++i) blocks[{values[i].block, values[i].session}].push_back(logs[i] - centre);
  }
  std::vector<double> levels;
  for (const auto& [block, own] : blocks)
    if (own.size() == points)
      levels.push_back(std::accumulate(own.begin(), own.end(), 0.0) / static_cast<double>(points));
  return levels;
}

/// The means of so many levels each that no more than kMostLevels are left; what is over at the end is left out.
std::vector<double> groupedBy(size_t size, const std::vector<double>& levels) {
  std::vector<double> means;
  for (auto at = levels.begin(); levels.end() - at >= static_cast<ptrdiff_t>(size); at += static_cast<ptrdiff_t>(size))
    means.push_back(std::accumulate(at, at + static_cast<ptrdiff_t>(size), 0.0) / static_cast<double>(size));
  return means;
}

/// The two-sided p-value of Kendall's S, with ties and continuity correction.
double trendP(const std::vector<double>& levels) {
  double s = 0;
  std::map<double, double> ties;
  for (size_t i = 0; i < levels.size(); ++i) {
    ++ties[levels[i]];
    for (size_t j = i + 1; j < levels.size(); ++j) s += (levels[j] > levels[i]) - (levels[j] < levels[i]);
  }
  const auto term = [](double n) { return n * (n - 1) * (2 * n + 5); };
  double variance = term(static_cast<double>(levels.size()));
  for (const auto& [level, times] : ties) variance -= term(times);
  variance /= 18;
  if (variance <= 0 || s == 0) return 1;
  return std::min(1.0, 2 * stats::normalCdf(-(std::abs(s) - 1) / std::sqrt(variance)));
}

double slopeOf(const std::vector<double>& levels) {
  std::vector<double> slopes;
  for (size_t i = 0; i < levels.size(); ++i)
    for (size_t j = i + 1; j < levels.size(); ++j)
      slopes.push_back((levels[j] - levels[i]) / static_cast<double>(j - i));
  return medianOf(slopes);
}

/// The first level over the others, if it is far from all of them.
std::optional<double> warmUp(const std::vector<double>& levels) {
  const std::vector<double> others(levels.begin() + 1, levels.end());
  const double centre = medianOf(others);
  const auto [low, high] = std::ranges::minmax_element(others);
  std::vector<double> distances;
  for (const double level : others) distances.push_back(std::abs(level - centre));
  const double spread = 1.4826 * medianOf(distances), distance = levels.front() - centre;
  const bool outside = levels.front() > *high || levels.front() < *low;
  return outside && std::abs(distance) > kApart * spread && spread > 0 ? std::optional(std::exp(distance))
                                                                       : std::nullopt;
}

}  // namespace

std::shared_ptr<const Description> nothingToSee() {
  static const auto nothing = std::make_shared<const Description>();
  return nothing;
}

std::vector<Curve> curvesOf(const Index& index, const plan::Metric& metric) {
  std::vector<Curve> curves;
  for (const plan::Point& point : index.plan().points) {
    const Series all = seriesOf(index, metric, point);
    std::vector<int64_t> runs;
    for (const Outcome& outcome : index.of(metric.kind, point.id).outcomes) runs.push_back(outcome.run);
    const bool stopped = stoppedByWidth(index, metric.kind, runs);
    size_t length = 0;
    for (const std::vector<double>* series : all) length = std::max(length, series->size());
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

std::vector<Ranked> rank(const Index& index, const plan::Metric& metric) {
  std::vector<Measured> all;
  for (const plan::Point& point : index.plan().points) {
    std::vector<PointValue> values = valuesAt(index, metric, point);
    if (values.empty()) continue;
    const Ranked ranked{point.id, std::nullopt, medianOf(plain(values)), static_cast<unsigned>(values.size())};
    all.push_back({ranked, std::move(values)});
  }
  std::ranges::stable_sort(
      all, [&](const Measured& a, const Measured& b) { return better(metric, a.ranked.median, b.ranked.median); });
  std::vector<Ranked> ranks;
  const unsigned fewest = rankBlocks(all.size());
  const bool told =
      metric.exact || std::ranges::any_of(all, [&](const Measured& one) { return one.ranked.n >= fewest; });
  const double confidence = 1 - (1 - kConfidence) / static_cast<double>(std::max<size_t>(1, pairsOf(all.size())));
  size_t first = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    if (i > first && !sharesRank(metric, all[first].values, all[i].values, confidence)) first = i;
    if (told) all[i].ranked.rank = static_cast<unsigned>(first + 1);
    ranks.push_back(all[i].ranked);
  }
  return ranks;
}

unsigned rankBlocks(size_t points) {
  return stats::minimumPairs(kConfidence, static_cast<unsigned>(std::max<size_t>(1, pairsOf(points))));
}

Front paretoFront(const Index& index, const plan::Metric& first, const plan::Metric& second) {
  Front front{first.name, second.name, {}, 0};
  const std::map<std::string, double> of_first = mediansOf(index, first), of_second = mediansOf(index, second);
  std::vector<FrontPoint> all;
  for (const plan::Point& point : index.plan().points)
    if (of_first.count(point.id) && of_second.count(point.id))
      all.push_back({point.id, of_first.at(point.id), of_second.at(point.id)});
  std::ranges::stable_sort(all, [&](const FrontPoint& a, const FrontPoint& b) {
    return better(first, a.first, b.first) || (a.first == b.first && better(second, a.second, b.second));
  });
  // Best in the first metric come first, so one is beaten by what came before unless it is better in the second.
  for (const FrontPoint& point : all) {
    const FrontPoint* last = front.points.empty() ? nullptr : &front.points.back();
    if (!last || better(second, point.second, last->second) ||
        (point.first == last->first && point.second == last->second))
      front.points.push_back(point);
    else
      ++front.beaten;
  }
  return front;
}

std::optional<Drift> driftOf(const Index& index, const plan::Metric& metric) {
  const std::vector<double> levels = levelsOf(index, metric);
  if (levels.size() < kFewest) return std::nullopt;
  Drift drift;
  drift.metric = metric.name;
  drift.blocks = static_cast<unsigned>(levels.size());
  drift.first = warmUp(levels);
  // A warm-up is no trend.
  const std::vector<double> from(levels.begin() + (drift.first ? 1 : 0), levels.end());
  const size_t size = (from.size() + kMostLevels - 1) / kMostLevels;
  const std::vector<double> means = groupedBy(size, from);
  drift.last = std::exp(slopeOf(means) * static_cast<double>(from.size() - 1) / static_cast<double>(size));
  drift.p = trendP(means);
  return drift;
}

std::vector<Outlier> outliersOf(const Index& index, const plan::Metric& metric) {
  std::vector<Outlier> outliers;
  for (const plan::Point& point : index.plan().points) {
    const std::vector<PointValue> values = valuesAt(index, metric, point);
    const std::vector<double> all = plain(values);
    for (const unsigned i : stats::tukeyOutliers(all))
      outliers.push_back({metric.name, point.id, values[i].trial, values[i].block, values[i].value, medianOf(all)});
  }
  std::ranges::sort(outliers, {}, &Outlier::trial);
  return outliers;
}

std::vector<std::string> mentionedMetrics(const plan::Plan& plan) {
  std::set<std::string> mentioned;
  const auto mention = [&](const std::vector<plan::Cell>& cells) {
    for (const plan::Cell& cell : cells)
      for (const plan::MetricTerm& term : metricTerms(*cell.term)) mentioned.insert(term.metric);
  };
  for (const plan::Comparison& comparison : plan.comparisons) mention(comparison.cells);
  for (const plan::Criterion& criterion : plan.criteria) mention(criterion.cells);
  for (const plan::Table& table : plan.tables) {
    mentioned.insert(table.subject);
    mentioned.insert(table.other);
  }
  for (const plan::Plot& plot : plan.plots) mentioned.insert(plot.subject);
  std::vector<std::string> names;
  for (const plan::Metric& metric : plan.metrics)
    if (mentioned.count(metric.name) || mentioned.empty()) names.push_back(metric.name);
  return names;
}

Description describe(const Index& index) {
  Description description;
  describePlots(index, description);
  const plan::Metric* first = nullptr;
  const std::vector<plan::Factor>& factors = index.plan().factors;
  const bool is_grid =
      std::ranges::count_if(factors, [](const plan::Factor& one) { return one.levels.size() > 1; }) > 1;
  for (const std::string& name : mentionedMetrics(index.plan())) {
    const plan::Metric* metric = index.plan().findMetric(name);
    if (!metric || metric->kind == plan::TrialKind::Profile) continue;
    if (is_grid)
      if (auto effects = effectsOn(index, *metric); effects && effects->effects.size() > 1)
        description.effects.push_back(std::move(*effects));
    if (metric->better)
      if (Ranking ranking{name, rank(index, *metric)}; ranking.points.size() > 2 && ranking.points.back().rank > 1)
        description.rankings.push_back(std::move(ranking));
    if (auto drift = driftOf(index, *metric); drift && (drift->first || drift->p <= kTrend))
      description.drifts.push_back(std::move(*drift));
    const std::vector<Outlier> outliers = outliersOf(index, *metric);
    description.outliers.insert(description.outliers.end(), outliers.begin(), outliers.end());
    if (!metric->better) continue;
    if (!first) {
      first = metric;
      continue;
    }
    if (Front front = paretoFront(index, *first, *metric); front.points.size() > 1 && front.beaten > 0)
      description.fronts.push_back(std::move(front));
  }
  describeAsked(index, description);
  return description;
}

}  // namespace expc::analysis
