// Comparisons and criteria of a plan.

#include <algorithm>
#include <set>

#include "compiler/lower/plan_builder.h"
#include "compiler/lower/terms.h"

namespace expc::lower {

plan::Cell PlanBuilder::cell(size_t point, const check::Metric& metric, const check::Comparison* comparison,
                             const Pairing* pairing) const {
  plan::Cell cell;
  auto levels = grid_.point(point);
  for (unsigned factor = 0; factor < levels.size(); ++factor)
    cell.labels.push_back(study_.factors[factor].levels[levels[factor]].label);
  cell.kind = toPlan(metric.kind);
  const std::string& treated = plan_.points[point].id;
  cell.points = {treated};
  if (!comparison) {
    cell.term = metricTerm(metric, treated);
    cell.estimator = plan::Estimator::Median;
    return cell;
  }
  size_t partner = static_cast<size_t>(pairing->partner[point]);
  const std::string& baseline = plan_.points[partner].id;
  cell.points.push_back(baseline);
  cell.estimator = estimatorOf(*comparison);
  cell.term = comparisonTerm(study_, *comparison, treated, levels[comparison->over], baseline,
                             grid_.point(partner)[comparison->over]);
  return cell;
}

plan::Comparison PlanBuilder::comparison(const check::Comparison& declared, const Pairing& pairing,
                                         const std::vector<bool>& skip) const {
  const check::Metric& metric = study_.workload->metrics[declared.metric];
  plan::Comparison result;
  result.name = declared.name;
  result.text = declared.text;
  result.over = study_.factors[declared.over].name;
  bool difference = declared.function == check::Comparison::Function::Difference;
  result.unit = difference ? metric.dimension.baseUnit() : "x";
  for (const check::Factor& factor : study_.factors) result.factors.push_back(factor.name);
  for (size_t point = 0; point < grid_.size(); ++point) {
    int partner = pairing.partner[point];
    if (partner < 0 || (!skip.empty() && (skip[point] || skip[partner]))) continue;
    result.cells.push_back(cell(point, metric, &declared, &pairing));
  }
  result.without_partner = pairing.without;
  result.without_partner_why = pairing.why;
  return result;
}

/// "precision fp32; gpus 1, 2 of 1..4": what was asked, and of how much where a selection or the machine left levels
/// out.
std::string PlanBuilder::domain(const check::Criterion& criterion, const ClaimCells& cells,
                                const check::Comparison* comparison) const {
  std::string text;
  for (unsigned index = 0; index < study_.factors.size(); ++index) {
    const check::Factor& factor = study_.factors[index];
    std::set<unsigned> levels;
    for (size_t point : cells.points) levels.insert(grid_.point(point)[index]);
    std::string labels;
    for (unsigned level : levels) labels += (labels.empty() ? "" : ", ") + factor.levels[level].label;
    std::string declared;
    for (const std::string& label : factor.declared) declared += (declared.empty() ? "" : ", ") + label;
    // A comparison says nothing at its own baseline.
    size_t askable = factor.levels.size() - (comparison && comparison->over == index ? 1 : 0);
    for (const check::Pin& pin : criterion.pins)
      if (pin.factor == index) askable = 1;
    if (!text.empty()) text += "; ";
    text += factor.name + " ";
    if (levels.size() == factor.levels.size())
      text += declared;
    else
      text += levels.size() >= askable ? labels : labels + " of " + declared;
  }
  return text;
}

bool PlanBuilder::criterion(const check::Criterion& declared, const Pairing* pairing, const std::vector<bool>& skip) {
  const check::Metric& metric = study_.workload->metrics[declared.metric];
  const check::Comparison* compared = declared.comparison ? &study_.comparisons[*declared.comparison] : nullptr;
  auto cells = claimCells(selected_, grid_, declared, pairing, skip, emitter_);
  if (!cells) return false;
  plan::Criterion result;
  result.name = declared.name;
  result.text = declared.text;
  result.doc = declared.doc;
  for (const check::Factor& factor : study_.factors) result.factors.push_back(factor.name);
  for (size_t point : cells->points) result.cells.push_back(cell(point, metric, compared, pairing));
  result.bound = toPlan(declared.bound);
  result.confidence = declared.confidence;
  bool ratio = compared && compared->function != check::Comparison::Function::Difference;
  result.unit = ratio ? "x" : metric.dimension.baseUnit();
  result.claim = std::move(cells->claim);
  result.not_asked = cells->points.empty();
  if (!result.not_asked) result.domain = domain(declared, *cells, compared);
  plan_.criteria.push_back(std::move(result));
  return true;
}

bool PlanBuilder::claims(const std::vector<bool>& skip) {
  plan_.comparisons.clear();
  plan_.criteria.clear();
  std::vector<Pairing> pairings;
  for (const check::Comparison& declared : study_.comparisons) {
    pairings.push_back(pairUp(selected_, grid_, index_, declared, *program_.sources));
    plan_.comparisons.push_back(comparison(declared, pairings.back(), skip));
  }
  for (const check::Criterion* declared : selected_.criteria) {
    const Pairing* pairing = declared->comparison ? &pairings[*declared->comparison] : nullptr;
    if (!criterion(*declared, pairing, skip)) return false;
  }
  return true;
}

}  // namespace expc::lower
