#include "compiler/lower/lower.h"

#include <algorithm>
#include <cassert>
#include <map>

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

/// Writes a prepared study as a plan.
struct PlanBuilder {
  points::Prepared& prepared;
  const expand::Space& space = *prepared.space;
  const check::Study& study = prepared.study();
  std::vector<unsigned> levels_of_all = {};  // points, in order
  plan::Plan plan = outlineOf(prepared).head;

  plan::Plan build() {
    points();
    references();
    controls();
    for (size_t i = 0; i < study.comparisons.size(); ++i) comparison(i);
    for (size_t i = 0; i < prepared.selected.criteria.size(); ++i) criterion(i);
    return std::move(plan);
  }

  void points() {
    const select::Selected& selected = prepared.selected;
    expand::Assignment at(selected);
    space.forEach([&](expand::Levels levels) {
      levels_of_all.insert(levels_of_all.end(), levels.begin(), levels.end());
      at.set(levels);
      auto failure = at.settle();
      assert(!failure && "every `when` has a value at every point");
      (void)failure;
      plan::Point point;
      point.id = id(levels);
      point.workload = space.use(levels);
      point.levels = levelsInPlan(levels);
      point.parameters = points::parametersOf(selected, at);
      point.unavailable = prepared.machine->unavailable(levels);
      point.expected_infeasible = prepared.machine->expectedInfeasible(levels);
      point.estimates = prepared.machine->estimates(levels);
      plan.points.push_back(std::move(point));
      return true;
    });
    plan.indexPoints();
  }

  void references() {
    for (size_t i = 0; i < study.references.size(); ++i) {
      points::PublishedValues published(space, study.references[i]);
      for (const plan::Metric& metric : plan.metrics) {
        auto index = static_cast<unsigned>(study.findMetric(metric.name));
        for (size_t at = 0; at < plan.points.size(); ++at)
          if (auto value = published.of(index, point(at)))
            plan.references[i].values.push_back({plan.points[at].id, metric.name, *value});
      }
    }
  }

  /// A selection may leave out the point of a control.
  void controls() {
    for (const check::Control& control : study.controls)
      points::findPinned(space, control.pins, [&](expand::Levels point) {
        plan.controls.push_back({control.name, id(point)});
        return false;
      });
    if (plan.design.share <= 1) return;
    const auto can_run = [](const plan::Point& one) { return one.startable(); };
    const auto point = std::ranges::find_if(plan.points, can_run);
    if (point != plan.points.end()) plan.controls.push_back({plan::kAlone, point->id});
  }

  /// Indices among the levels that the selection keeps.
  std::vector<unsigned> levelsInPlan(expand::Levels levels) const {
    std::vector<unsigned> result;
    for (size_t factor = 0; factor < levels.size(); ++factor) {
      const auto& kept = prepared.selected.levels[factor];
      const auto place = std::ranges::lower_bound(kept, levels[factor]) - kept.begin();
      result.push_back(levels[factor] == expand::kAbsent ? plan::kInactive : static_cast<unsigned>(place));
    }
    return result;
  }
  std::string id(expand::Levels point) { return std::string(prepared.writer->id(point)); }
  expand::Levels point(size_t index) const { return {levels_of_all.data() + index * space.width(), space.width()}; }

  plan::Cell cell(const check::Comparison* comparison, const check::Metric& metric, expand::Levels point) {
    plan::Cell cell;
    cell.levels = levelsInPlan(point);
    cell.kind = metric.kind;
    if (!comparison) {
      cell.points = {id(point)};
      cell.term = termOf(plan::MetricTerm{metric.name, cell.points[0].point});
      return cell;
    }
    points::forEachRead(space, comparison, point, [&](expand::Levels read) {
      std::string name = id(read);
      if (std::ranges::find(cell.points, name) == cell.points.end()) cell.points.push_back(name);
    });
    cell.estimator = points::estimatorOf(*comparison);
    cell.term = points::comparisonTerm(space, *comparison, point, [&](expand::Levels at) { return id(at); });
    return cell;
  }

  std::optional<double> ideal(const check::Comparison& comparison, expand::Levels point) {
    const unsigned baseline = points::partnerOf(space, comparison, point).point[comparison.over];
    const check::Factor& factor = study.factors[comparison.over];
    const check::FormulaPtr& strong = study.workload->parameters[factor.parameters[0]].strong;
    bool shared = false;
    if (strong) {
      expand::Assignment at(prepared.selected);
      at.set(point);
      if (at.settle()) return std::nullopt;
      const check::Outcome outcome = at.evaluate(*strong, expand::View::Workload);
      const auto* value = std::get_if<check::Value>(&outcome);
      shared = value && value->asBool();
    }
    return points::idealOf(study, comparison, point[comparison.over], baseline, shared);
  }

  // Cells of comparisons and criteria, without those that read a point that the system cannot run.
  void comparison(size_t index) {
    const check::Comparison& declared = study.comparisons[index];
    for (size_t i = 0; i < plan.points.size(); ++i)
      if (points::comparedAt(space, declared, point(i)).found == points::Partner::Found::One &&
          prepared.machine->runs(&declared, point(i))) {
        plan.comparisons[index].cells.push_back(cell(&declared, study.metrics[declared.metric], point(i)));
        plan.comparisons[index].cells.back().ideal = ideal(declared, point(i));
      }
  }

  void criterion(size_t index) {
    const check::Criterion& declared = *prepared.selected.criteria[index];
    plan::Criterion& criterion = plan.criteria[index];
    points::Question question(space, declared, *prepared.machine);
    const check::Comparison* comparison = question.comparison;
    std::vector<expand::Levels> points;
    for (size_t i = 0; i < plan.points.size(); ++i) {
      expand::Levels at = point(i);
      if (question.at(at, comparison ? points::comparedAt(space, *comparison, at) : points::Partner()) !=
          points::Question::Answer::Cell)
        continue;
      if (declared.infeasible) {
        criterion.cells.push_back(cell(nullptr, {}, at));
        criterion.cells.back().term = termOf(plan::ConstantTerm{1});
        criterion.cells.back().kind = plan.design.kinds[0].kind;
      } else {
        criterion.cells.push_back(cell(comparison, study.metrics[*declared.metric], at));
      }
      if (const auto value = question.published)
        criterion.cells.back().bound =
            bandAround(*value, declared, study.references[*declared.like].name, criterion.unit);
      points.push_back(at);
    }
    std::vector<unsigned> cells(points.size());
    for (unsigned i = 0; i < cells.size(); ++i) cells[i] = i;
    criterion.not_asked = cells.empty();
    if (!cells.empty()) criterion.claim = claimOf(declared, points, cells, 0);
  }
};

}  // namespace

std::optional<plan::Plan> planOf(points::Prepared& prepared, diag::Emitter& emitter) {
  if (prepared.survey->points > kMaxPlanPoints) {
    points::reportTooMany(prepared.study(), kMaxPlanPoints, false, emitter);
    return std::nullopt;
  }
  return PlanBuilder{prepared}.build();
}

}  // namespace expc::lower
