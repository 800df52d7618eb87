#include "compiler/lower/lower.h"

#include <algorithm>
#include <cassert>
#include <map>

#include "compiler/points/published.h"
#include "compiler/points/terms.h"

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
class PlanBuilder {
 public:
  explicit PlanBuilder(points::Prepared& prepared)
      : prepared_(prepared), space_(prepared.space()), study_(prepared.study()), pairs_(prepared.space()) {}

  plan::Plan build() {
    plan_ = outlineOf(prepared_).head;
    points();
    references();
    controls();
    for (size_t i = 0; i < study_.comparisons.size(); ++i) comparison(i);
    for (size_t i = 0; i < prepared_.selected().criteria.size(); ++i) criterion(i);
    return std::move(plan_);
  }

 private:
  void points() {
    const select::Selected& selected = prepared_.selected();
    expand::Assignment at(selected);
    space_.forEach([&](expand::Levels levels) {
      levels_.insert(levels_.end(), levels.begin(), levels.end());
      at.set(levels);
      auto failure = at.settle();
      assert(!failure && "every `when` has a value at every point");
      (void)failure;
      plan::Point point;
      point.id = id(levels);
      point.workload = space_.use(levels);
      for (unsigned factor = 0; factor < levels.size(); ++factor) {
        const auto& kept = selected.levels[factor];
        auto place = std::lower_bound(kept.begin(), kept.end(), levels[factor]) - kept.begin();
        point.levels.push_back(levels[factor] == expand::kAbsent ? plan::kInactive : static_cast<unsigned>(place));
      }
      point.parameters = points::parametersOf(selected, at);
      point.unavailable = prepared_.machine().unavailable(levels);
      point.expected_infeasible = prepared_.machine().expectedInfeasible(levels);
      point.estimates = prepared_.machine().estimates(levels);
      plan_.points.push_back(std::move(point));
      return true;
    });
  }

  void references() {
    for (size_t i = 0; i < study_.references.size(); ++i) {
      points::PublishedValues published(space_, study_.references[i]);
      for (const plan::Metric& metric : plan_.metrics) {
        auto index = static_cast<unsigned>(study_.findMetric(metric.name));
        for (size_t at = 0; at < plan_.points.size(); ++at)
          if (auto value = published.of(index, point(at)))
            plan_.references[i].values.push_back({plan_.points[at].id, metric.name, *value});
      }
    }
  }

  /// A selection may leave out the point of a control.
  void controls() {
    for (const check::Control& control : study_.controls)
      points::findPinned(space_, control.pins, [&](expand::Levels point) {
        plan_.controls.push_back({control.name, id(point)});
        return false;
      });
    if (plan_.design.share <= 1) return;
    const auto can_run = [](const plan::Point& one) { return one.startable(); };
    const auto point = std::find_if(plan_.points.begin(), plan_.points.end(), can_run);
    if (point != plan_.points.end()) plan_.controls.push_back({plan::kAlone, point->id});
  }

  std::string id(expand::Levels point) { return std::string(prepared_.writer().id(point)); }
  expand::Levels point(size_t index) const { return {levels_.data() + index * space_.width(), space_.width()}; }

  plan::Cell cell(const check::Comparison* comparison, const check::Metric& metric, expand::Levels point) {
    plan::Cell cell;
    for (unsigned factor = 0; factor < point.size(); ++factor)
      cell.labels.push_back(point[factor] == expand::kAbsent ? "–"
                                                             : study_.factors[factor].levels[point[factor]].label);
    cell.kind = metric.kind;
    if (!comparison) {
      cell.points = {id(point)};
      cell.term = points::metricTerm(metric, cell.points[0].point);
      return cell;
    }
    pairs_.reads(comparison, point, [&](expand::Levels read) {
      std::string name = id(read);
      if (std::find(cell.points.begin(), cell.points.end(), name) == cell.points.end()) cell.points.push_back(name);
    });
    cell.estimator = points::estimatorOf(*comparison);
    cell.term = points::comparisonTerm(study_, *comparison, pairs_, point, [&](expand::Levels at) { return id(at); });
    return cell;
  }

  std::optional<double> ideal(const check::Comparison& comparison, expand::Levels point) {
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
    return points::idealOf(study_, comparison, point[comparison.over], baseline, shared);
  }

  // Cells of comparisons and criteria, without those that read a point that the system cannot run.
  void comparison(size_t index) {
    const check::Comparison& declared = study_.comparisons[index];
    for (size_t i = 0; i < plan_.points.size(); ++i)
      if (pairs_.value(declared, point(i)).found == points::Pairs::Found::One &&
          prepared_.machine().runs(&declared, point(i))) {
        plan_.comparisons[index].cells.push_back(cell(&declared, study_.metrics[declared.metric], point(i)));
        plan_.comparisons[index].cells.back().ideal = ideal(declared, point(i));
      }
  }

  void criterion(size_t index) {
    const check::Criterion& declared = *prepared_.selected().criteria[index];
    plan::Criterion& criterion = plan_.criteria[index];
    points::Question question(space_, declared, prepared_.machine());
    const check::Comparison* comparison = question.comparison();
    std::vector<expand::Levels> points;
    for (size_t i = 0; i < plan_.points.size(); ++i) {
      expand::Levels at = point(i);
      if (question.at(at, comparison ? pairs_.value(*comparison, at) : points::Pairs::Answer()) !=
          points::Question::Answer::Cell)
        continue;
      if (declared.infeasible) {
        criterion.cells.push_back(cell(nullptr, {}, at));
        criterion.cells.back().term = points::constantTerm(1);
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

  points::Prepared& prepared_;
  const expand::Space& space_;
  const check::Study& study_;
  points::Pairs pairs_;
  std::vector<unsigned> levels_;  // of all points, in order
  plan::Plan plan_;
};

}  // namespace

std::optional<plan::Plan> planOf(points::Prepared& prepared, diag::Emitter& emitter) {
  if (prepared.survey().points > kMaxPlanPoints) {
    points::reportTooMany(prepared.study(), kMaxPlanPoints, false, emitter);
    return std::nullopt;
  }
  return PlanBuilder(prepared).build();
}

}  // namespace expc::lower
