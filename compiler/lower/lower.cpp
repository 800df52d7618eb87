// Builds the whole plan on top of the outline: first all points, kept as levels in one flat list, then
// published values, controls, and the cells of comparisons and criteria, each with its term and the points that
// it reads. Cells that read a point which the system cannot run are left out.

#include "compiler/lower/lower.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <set>

namespace expc::lower {
namespace {

/// The band around a published value, `like`'s share to each side. A negative value turns the band around.
plan::Bound bandAround(double value, const check::Assertion& assertion, const std::string& reference,
                       const std::string& unit) {
  double share = assertion.agreement.toDouble();
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
  /// The levels of all points, one after the other, in the order of `plan.points`.
  std::vector<unsigned> levels_of_all = {};
  plan::Plan plan = outlineOf(prepared).head;

  /// In this order: cells refer to points by id, and `points` fills the list of levels that the others read.
  plan::Plan build() {
    points();
    references();
    controls();
    for (size_t i = study.implied; i < study.comparisons.size(); ++i) comparison(i);
    for (size_t i = 0; i < prepared.selected.criteria.size(); ++i) criterion(i);
    return std::move(plan);
  }

  /// Writes every point.
  void points() {
    const expand::Selected& selected = prepared.selected;
    expand::Assignment at(selected);
    space.forEach([&](expand::Levels levels) {
      levels_of_all.insert(levels_of_all.end(), levels.begin(), levels.end());
      at.set(levels);
      // Space::compile has refused every `when` without a value.
      auto failure = at.resolve();
      assert(!failure && "every `when` has a value at every point");
      (void)failure;
      plan::Point point;
      point.id = id(levels);
      point.process = prepared.writer->process(levels);
      point.workload = space.use(levels);
      point.levels = levelsInPlan(levels, nullptr);
      point.parameters = points::parametersOf(selected, at);
      point.unavailable = prepared.machine->unavailable(levels);
      point.expected_infeasible = prepared.machine->expectedInfeasible(levels);
      point.estimates = prepared.machine->estimates(levels);
      plan.points.push_back(std::move(point));
      return true;
    });
    plan.indexPoints();
  }

  /// Writes what references publish for the points, for every metric of the plan.
  void references() {
    for (size_t i = 0; i < study.references.size(); ++i) {
      points::PublishedValues published(space, study.references[i]);
      for (const plan::Metric& metric : plan.metrics) {
        auto index = unsigned(study.findMetric(metric.name));
        for (size_t at = 0; at < plan.points.size(); ++at)
          if (auto value = published.of(index, point(at)))
            plan.references[i].values.push_back({plan.points[at].id, metric.name, *value});
      }
    }
  }

  /// Writes each control's point; a selection may have left it out. If blocks share the machine, the first
  /// point that can run becomes a control too (kAlone): it is measured alone as well, to show what sharing
  /// does.
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

  /// Indices among the levels that the selection keeps, of the factors that the comparison's values have. A criterion
  /// may list more: some of its other assertions have levels of them.
  std::vector<unsigned> levelsInPlan(expand::Levels levels, const check::Comparison* comparison,
                                     const check::Criterion* criterion = nullptr) const {
    std::vector<unsigned> result;
    for (unsigned factor = 0; factor < levels.size(); ++factor) {
      const bool lacks = comparison && comparison->lacks(factor);
      if (criterion ? study.lacks(*criterion, factor) : lacks) continue;
      const auto& kept = prepared.selected.levels[factor];
      const auto place = std::ranges::lower_bound(kept, levels[factor]) - kept.begin();
      result.push_back(lacks || levels[factor] == expand::kAbsent ? plan::kInactive : unsigned(place));
    }
    return result;
  }
  std::string id(expand::Levels point) { return std::string(prepared.writer->id(point)); }
  expand::Levels point(size_t index) const { return {levels_of_all.data() + index * space.width(), space.width()}; }

  /// A cell: its labels, its term and the distinct points that it reads. Without a comparison its term is the
  /// metric.
  plan::Cell cell(const check::Comparison* comparison, const check::Metric& metric, expand::Levels point) {
    plan::Cell cell;
    cell.levels = levelsInPlan(point, comparison);
    cell.kind = metric.kind;
    if (!comparison) {
      cell.points = {id(point)};
      cell.term = termOf(plan::MetricTerm{metric.name, cell.points[0].point});
      return cell;
    }
    // Comparisons of comparisons may read a point twice; a plan lists it once.
    std::set<std::string> known;
    const auto add = [&](expand::Levels read) {
      if (const auto [name, fresh] = known.insert(id(read)); fresh) cell.points.push_back(*name);
    };
    points::forEachRead(space, comparison, point, add, /*treated=*/true);
    cell.treated = unsigned(cell.points.size());
    points::forEachRead(space, comparison, point, add);
    cell.estimator = points::estimatorOf(*comparison);
    cell.term = points::Compared{space, *comparison, point}.term([&](expand::Levels at) { return id(at); });
    return cell;
  }

  /// The cell's value if devices lost nothing to each other, if that is known. Whether all levels share the
  /// same work is what the workload's `strong` condition says at the point.
  std::optional<double> ideal(const check::Comparison& comparison, expand::Levels point) {
    const unsigned baseline = points::Compared{space, comparison, point}.partner().point[comparison.over];
    const check::Factor& factor = study.factors[comparison.over];
    const check::FormulaPtr& strong = study.parameter(factor.parameters[0]).strong;
    bool shared = false;
    if (strong) {
      expand::Assignment at(prepared.selected);
      at.set(point);
      if (at.resolve()) return std::nullopt;
      const check::Outcome outcome = at.evaluate(*strong, expand::View::Workload);
      const auto* value = std::get_if<check::Value>(&outcome);
      shared = value && value->asBool();
    }
    return points::idealOf(study, comparison, point[comparison.over], baseline, shared);
  }

  /// Writes the cells of a comparison.
  void comparison(size_t index) {
    const check::Comparison& declared = study.comparisons[index];
    plan::Comparison& made = plan.comparisons[index - study.implied];
    for (size_t i = 0; i < plan.points.size(); ++i)
      if (points::Compared{space, declared, point(i)}.value() && prepared.machine->runs(&declared, point(i))) {
        made.cells.push_back(cell(&declared, study.metrics[declared.metric], point(i)));
        if (!declared.aggregates()) made.cells.back().ideal = ideal(declared, point(i));
      }
  }

  /// Writes the cells of a criterion, with their published bounds, and its claim.
  void criterion(size_t index) {
    const check::Criterion& declared = *prepared.selected.criteria[index];
    plan::Criterion& criterion = plan.criteria[index];
    std::vector<points::JoinedCell> cells;
    // Claims about what is seen come last, so that the first cell is one with an estimate where there is any.
    for (const bool seen : {false, true})
      for (unsigned a = 0; a < declared.assertions.size(); ++a)
        if (declared.assertions[a].seen() == seen) cellsOf(declared, a, cells);
    const points::JoinedClaim joined(declared, std::move(cells));
    for (const points::JoinedCell& cell : joined.cells()) {
      const std::string unit =
          criterion.assertions.empty() ? criterion.unit : criterion.assertions[cell.assertion].unit;
      const check::Assertion& assertion = declared.assertions[cell.assertion];
      criterion.cells.push_back(judged(assertion, cell, unit));
      criterion.cells.back().levels = levelsInPlan(cell.levels, study.comparison(assertion.comparison), &declared);
      if (!criterion.assertions.empty()) criterion.cells.back().assertion = cell.assertion;
    }
    // The outline asked whether there are cells at all; here the machine and the references have had their say.
    criterion.not_asked = joined.cells().empty();
    if (!criterion.not_asked) criterion.claim = joined.claim();
  }

  /// Adds the points at which an assertion judges something.
  void cellsOf(const check::Criterion& declared, unsigned assertion, std::vector<points::JoinedCell>& cells) {
    points::Question question(space, declared.assertions[assertion], *prepared.machine);
    for (size_t i = 0; i < plan.points.size(); ++i) {
      expand::Levels at = point(i);
      const auto partner =
          question.comparison ? points::Compared{space, *question.comparison, at}.value() : points::Partner();
      if (question.at(at, partner) == points::Question::Answer::Cell)
        cells.push_back({.assertion = assertion, .levels = {at.begin(), at.end()}, .published = question.published});
    }
  }

  /// The cell of an assertion at a point. The claim that a point runs out of memory has the constant term 1, and its
  /// trials are of the design's first kind.
  plan::Cell judged(const check::Assertion& assertion, const points::JoinedCell& at, const std::string& unit) {
    if (assertion.infeasible) {
      plan::Cell memory = cell(nullptr, {}, at.levels);
      memory.term = termOf(plan::ConstantTerm{1});
      memory.kind = plan.design.kinds[0].kind;
      return memory;
    }
    plan::Cell result = cell(study.comparison(assertion.comparison), study.metrics[*assertion.metric], at.levels);
    if (assertion.absent) {
      result.term = termOf(plan::AbsentTerm{result.term});
      result.estimator = plan::Estimator::Median;
    }
    if (at.published) result.bound = bandAround(*at.published, assertion, study.references[*assertion.like].name, unit);
    return result;
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
