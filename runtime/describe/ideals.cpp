#include "runtime/describe/ideals.h"

namespace expc::describe {
namespace {

/// Returns the ratio in a comparison's term, and multiplies the factors around it into `scale`; null if the term is no
/// ratio.
const plan::OperationTerm* ratioOf(const plan::Term& term, double& scale) {
  if (const auto* scaled = term.as<plan::ScaleTerm>()) {
    scale *= scaled->factor;
    return ratioOf(*scaled->term, scale);
  }
  const auto* operation = term.as<plan::OperationTerm>();
  return operation && operation->op == plan::OperationTerm::Op::Ratio ? operation : nullptr;
}

}  // namespace

Ideals idealsOf(const Plan& plan, const Judgement& judgement, const Metric& metric) {
  for (const Comparison& comparison : plan.comparisons) {
    Ideals ideals{comparison.over, {}};
    for (const plan::Cell& cell : comparison.cells) {
      double scale = 1;
      const plan::OperationTerm* ratio = cell.ideal ? ratioOf(*cell.term, scale) : nullptr;
      if (!ratio) break;
      const auto* treated = ratio->operands[0]->as<MetricTerm>();
      const auto* baseline = ratio->operands[1]->as<MetricTerm>();
      // For a time the baseline is the numerator, so its ideal is a hyperbola over the factor: no line is drawn.
      if (!treated || !baseline || treated->metric != metric.name || treated->place != cell.points[0]) break;
      const judge::Summary* start = judgement.find(baseline->place.point, metric.name);
      if (!start || !start->median) continue;
      ideals.at[treated->place.point] = *start->median * *cell.ideal / scale;
      ideals.at[baseline->place.point] = *start->median;
    }
    if (!ideals.at.empty()) return ideals;
  }
  return {};
}

}  // namespace expc::describe
