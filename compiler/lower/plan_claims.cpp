// Comparisons and criteria of a plan.

#include <algorithm>
#include <map>

#include "compiler/lower/plan_builder.h"
#include "compiler/survey/published.h"
#include "compiler/survey/terms.h"

namespace expc::lower {
namespace {

/// Groups cells by the levels of one quantifier's factors, in order of appearance, and descends.
plan::Claim claimOf(const check::Criterion& criterion, const std::vector<expand::Levels>& points,
                    const std::vector<unsigned>& cells, size_t depth) {
  plan::Claim claim;
  if (depth == criterion.quantifiers.size()) {
    claim.kind = plan::Claim::Kind::Cell;
    claim.cell = cells.front();
    return claim;
  }
  const check::Quantifier& quantifier = criterion.quantifiers[depth];
  claim.kind = quantifier.kind == ast::QuantifierKind::ForAll ? plan::Claim::Kind::ForAll : plan::Claim::Kind::Exists;
  std::map<std::vector<unsigned>, std::vector<unsigned>> groups;
  for (unsigned cell : cells) {
    std::vector<unsigned> key;
    for (unsigned factor : quantifier.factors) key.push_back(points[cell][factor]);
    groups[std::move(key)].push_back(cell);
  }
  for (const auto& [key, members] : groups) claim.children.push_back(claimOf(criterion, points, members, depth + 1));
  return claim;
}

/// The band around what is published for a cell.
plan::Bound bandAround(double value, const check::Criterion& criterion, const std::string& reference,
                       const std::string& unit) {
  double share = criterion.agreement.toDouble();
  double low = value * (1 - share), high = value * (1 + share);
  if (high < low) std::swap(low, high);
  return {plan::Relation::Within, low, high,
          fmt::format("within {:.4g}{}..{:.4g}{} ({}: {:.4g}{})", low, unit, high, unit, reference, value, unit)};
}

}  // namespace

plan::Cell PlanBuilder::cell(const check::Comparison* comparison, const check::Metric& metric, expand::Levels point) {
  plan::Cell cell;
  for (unsigned factor = 0; factor < point.size(); ++factor)
    cell.labels.push_back(point[factor] == expand::kAbsent ? "–" : study_.factors[factor].levels[point[factor]].label);
  cell.kind = metric.kind;
  if (!comparison) {
    cell.points = {id(point)};
    cell.term = metricTerm(metric, cell.points[0].point);
    return cell;
  }
  pairs_.reads(comparison, point, [&](expand::Levels read) {
    std::string name = id(read);
    if (std::find(cell.points.begin(), cell.points.end(), name) == cell.points.end()) cell.points.push_back(name);
  });
  cell.estimator = estimatorOf(*comparison);
  cell.term = comparisonTerm(study_, *comparison, pairs_, point, [&](expand::Levels at) { return id(at); });
  return cell;
}

std::optional<double> PlanBuilder::ideal(const check::Comparison& comparison, expand::Levels point) {
  const unsigned baseline = pairs_.partner(comparison, point).partner[comparison.over];
  const check::Factor& factor = study_.factors[comparison.over];
  const check::FormulaPtr& strong = study_.workload->parameters[factor.parameters[0]].strong;
  bool shared = false;
  if (strong) {
    expand::Assignment at(prepared_.selected());
    at.set(point);
    if (at.settle()) return std::nullopt;
    const check::Outcome outcome = at.evaluate(*strong, expand::View::Workload);
    const auto* value = std::get_if<check::Value>(&outcome);
    shared = value && value->asBool();
  }
  return idealOf(study_, comparison, point[comparison.over], baseline, shared);
}

void PlanBuilder::comparison(size_t index) {
  const check::Comparison& declared = study_.comparisons[index];
  for (size_t i = 0; i < plan_.points.size(); ++i)
    if (pairs_.value(declared, point(i)).found == Pairs::Found::One && prepared_.machine().runs(&declared, point(i))) {
      plan_.comparisons[index].cells.push_back(cell(&declared, study_.metrics[declared.metric], point(i)));
      plan_.comparisons[index].cells.back().ideal = ideal(declared, point(i));
    }
}

void PlanBuilder::criterion(size_t index) {
  const check::Criterion& declared = *prepared_.selected().criteria[index];
  plan::Criterion& criterion = plan_.criteria[index];
  Question question(space_, declared, prepared_.machine());
  const check::Comparison* comparison = question.comparison();
  std::vector<expand::Levels> points;
  for (size_t i = 0; i < plan_.points.size(); ++i) {
    expand::Levels at = point(i);
    if (question.at(at, comparison ? pairs_.value(*comparison, at) : Pairs::Answer()) != Question::Answer::Cell)
      continue;
    if (declared.infeasible) {
      criterion.cells.push_back(cell(nullptr, {}, at));
      criterion.cells.back().term = constantTerm(1);
      criterion.cells.back().kind = plan_.design.kinds[0].kind;
    } else {
      criterion.cells.push_back(cell(comparison, study_.metrics[*declared.metric], at));
    }
    if (const auto value = question.published())
      criterion.cells.back().bound =
          bandAround(*value, declared, study_.references[*declared.like].name, criterion.unit);
    points.push_back(at);
  }
  std::vector<unsigned> cells(points.size());
  for (unsigned i = 0; i < cells.size(); ++i) cells[i] = i;
  criterion.not_asked = cells.empty();
  if (!cells.empty()) criterion.claim = claimOf(declared, points, cells, 0);
}

}  // namespace expc::lower
