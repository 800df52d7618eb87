#include "runtime/analysis/description.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "runtime/analysis/mentioned.h"

namespace expc::analysis {

std::shared_ptr<const Description> nothingToSee() {
  static const auto nothing = std::make_shared<const Description>();
  return nothing;
}

namespace {

/// What the study's plots draw that is neither an estimate nor a comparison.
void describePlots(const Index& index, Description& description) {
  const plan::Plan& plan = index.plan();
  std::set<std::string> series;
  for (const plan::Plot& plot : plan.plots) {
    const plan::Metric *subject = plan.findMetric(plot.subject), *over = plan.findMetric(plot.over);
    if (plot.kind(plan) == plan::PlotKind::Metrics) description.plotted.push_back(paretoFront(index, *over, *subject));
    if (plot.kind(plan) != plan::PlotKind::Series || !series.insert(plot.subject).second) continue;
    std::vector<Curve> curves = curvesOf(index, *subject);
    description.curves.insert(description.curves.end(), std::make_move_iterator(curves.begin()),
                              std::make_move_iterator(curves.end()));
  }
}

}  // namespace

Description describe(const Index& index) {
  Description description;
  describePlots(index, description);
  const plan::Metric* first = nullptr;
  const std::vector<plan::Factor>& factors = index.plan().factors;
  const bool is_grid =
      std::count_if(factors.begin(), factors.end(), [](const plan::Factor& one) { return one.levels.size() > 1; }) > 1;
  for (const std::string& name : mentionedMetrics(index.plan())) {
    const plan::Metric* metric = index.plan().findMetric(name);
    if (!metric || metric->kind == plan::TrialKind::Profile) continue;
    if (is_grid)
      if (auto effects = effectsOn(index, *metric); effects && effects->effects.size() > 1)
        description.effects.push_back(std::move(*effects));
    if (Ranking ranking{name, rank(index, *metric)}; ranking.points.size() > 2 && ranking.points.back().rank > 1)
      description.rankings.push_back(std::move(ranking));
    if (auto drift = driftOf(index, *metric); drift && (drift->first || drift->p <= kTrend))
      description.drifts.push_back(std::move(*drift));
    const std::vector<Outlier> outliers = outliersOf(index, *metric);
    description.outliers.insert(description.outliers.end(), outliers.begin(), outliers.end());
    if (!first) {
      first = metric;
      continue;
    }
    if (Front front = paretoFront(index, *first, *metric); front.points.size() > 1 && front.beaten > 0)
      description.fronts.push_back(std::move(front));
  }
  return description;
}

}  // namespace expc::analysis
