// The search for partners, and the translation of comparisons and derived metrics into terms of a plan.

#include "compiler/points/pairs.h"

#include <cassert>

#include "runtime/base/format.h"

namespace expc::points {
namespace {

using expand::kAbsent;
using expand::kOpen;
using expand::Obstacle;
using Op = plan::OperationTerm::Op;

/// Searches all partners of a point when the obvious one is none. Goes through the factors in walking order: a
/// factor that is active at both points keeps its level, one that is active only at the baseline tries all its
/// levels. Stops at the second partner, and remembers the first obstacle for the message.
struct Search {
  const Space& space;
  Levels treated;
  /// The compared factor and its level at the partner.
  unsigned over, level;
  std::vector<unsigned> levels = std::vector<unsigned>(treated.size(), kOpen);
  Partner answer = {};
  /// The number of partners found, 2 for more.
  unsigned found = 0;
  /// Whether `answer.missing` is filled.
  bool known = false;
  /// The aggregate that is compared, if it is one: its value stands at one point of each of its groups.
  const check::Comparison* inner = nullptr;

  Partner run() {
    descend(0);
    using enum Partner::Found;
    answer.found = found > 1 ? Several : found == 1 ? One : known ? None : NotTreated;
    return std::move(answer);
  }

  /// Chooses the level of the factor at `depth`.
  void descend(size_t depth) {
    if (found > 1) return;
    if (depth == levels.size()) return finish();
    unsigned factor = space.order()[depth];
    bool active = space.active(factor, levels);
    if (factor == over) {
      if (!active) return obstruct({Obstacle::Kind::Inactive, factor, 0});
      levels[factor] = level;
      descend(depth + 1);
    } else if (!active || (treated[factor] != kAbsent && !(inner && inner->lacks(factor)))) {
      levels[factor] = active ? treated[factor] : kAbsent;
      descend(depth + 1);
    } else {
      for (unsigned level : space.selected().levels[factor]) {
        levels[factor] = level;
        descend(depth + 1);
      }
    }
    levels[factor] = kOpen;
  }

  /// All levels are chosen: it is a partner, or there is an obstacle.
  void finish() {
    auto obstacle = space.whyNot(levels);
    if (obstacle) return obstruct(*obstacle);
    if (inner && !Compared{space, *inner, levels}.value()) return;
    if (++found == 1) answer.point = levels;
  }

  /// Records the first obstacle.
  void obstruct(const Obstacle& obstacle) {
    if (known) return;
    known = true;
    bool left_out = obstacle.kind == Obstacle::Kind::LeftOut;
    answer.missing = {obstacle, left_out ? levels[obstacle.factor] : 0};
  }
};

/// The term of `epochs_to(accuracy >= 97%)`. Its operand compares a series with a constant; check has made
/// sure.
plan::TermPtr firstTerm(const check::Study& study, const check::Formula& condition) {
  const plan::Relation relation = *check::relationOf(condition.op);
  const check::Value& limit = condition.operands[1]->constant;
  plan::Bound bound{relation, limit.asNumber()->toDouble(), 0, plan::relationText(relation, limit.toString())};
  return termOf(plan::FirstTerm{{study.metrics[condition.operands[0]->parameter].name, ""}, std::move(bound)});
}

/// The term of `p99(latency, skip = 100)`.
plan::TermPtr reduceTerm(const check::Study& study, const check::Formula& from) {
  const auto number = [&](size_t operand) { return from.operands[operand]->constant.asNumber()->toDouble(); };
  plan::Reduction reduction(static_cast<plan::Reduction::Take>(number(1)));
  reduction.percentile = number(2);
  reduction.skip = uint64_t(number(3));
  reduction.first = uint64_t(number(4));
  reduction.last = uint64_t(number(5));
  return termOf(plan::ReduceTerm{{study.metrics[from.operands[0]->parameter].name, ""}, reduction});
}

/// Translates a derived metric's formula. Leaves name metrics without a point: the plan evaluates it at any
/// point.
plan::TermPtr derivedTerm(const check::Study& study, const check::Formula& from) {
  using From = check::Formula::Op;
  if (from.op == From::Constant) return termOf(plan::ConstantTerm{from.constant.asNumber()->toDouble()});
  if (from.op == From::Parameter) return termOf(plan::ParameterTerm{study.parameter(from.parameter).name});
  if (from.op == From::Metric) return termOf(plan::MetricTerm{study.metrics[from.parameter].name, ""});
  if (from.op == From::EpochsTo) return firstTerm(study, *from.operands[0]);
  if (from.op == From::Reduce) return reduceTerm(study, from);
  std::vector<plan::TermPtr> operands;
  for (const check::FormulaPtr& operand : from.operands) operands.push_back(derivedTerm(study, *operand));
  if (from.op == From::Negate)
    return termOf(plan::OperationTerm{Op::Product, {termOf(plan::ConstantTerm{-1}), operands[0]}});
  const auto op = check::operationOf(from.op);
  assert(op && "check lets nothing else into a derived metric");
  // Flatten `a + b + c` into one sum of three, so that terms nest no deeper than the brackets of the source.
  const auto* first = operands[0]->as<plan::OperationTerm>();
  if (first && first->op == *op && (*op == Op::Sum || *op == Op::Product)) {
    std::vector<plan::TermPtr> all = first->operands;
    all.insert(all.end(), operands.begin() + 1, operands.end());
    operands = std::move(all);
  }
  return termOf(plan::OperationTerm{*op, std::move(operands)});
}

/// base / k, the number by which more devices divide a rate. Levels must be numbers; check requires that.
double scaleOf(const check::Study& study, const check::Comparison& comparison, unsigned treated, unsigned baseline) {
  const auto& levels = study.factors[comparison.over].levels;
  return levels[baseline].values[0].asNumber()->toDouble() / levels[treated].values[0].asNumber()->toDouble();
}

}  // namespace

std::string ruleName(const check::Rule& rule, const source::SourceManager& sources) {
  if (!rule.name.empty()) return rule.name;
  return fmt::format("line {}", sources.position(rule.range.file, rule.range.begin).line);
}

std::string text(const Missing& missing, const check::Study& study, const source::SourceManager& sources) {
  const Obstacle& obstacle = missing.obstacle;
  if (obstacle.kind == Obstacle::Kind::LeftOut) {
    const check::Factor& factor = study.factors[obstacle.factor];
    return fmt::format("the selection leaves out {}={}", factor.name, factor.levels[missing.level].label);
  }
  if (obstacle.kind != Obstacle::Kind::Rule)
    return fmt::format("'{}' does not vary there", study.factors[obstacle.factor].name);
  const check::Rule& rule = study.rules[obstacle.rule];
  const std::string because = rule.because.empty() ? "" : fmt::format(" ({})", rule.because);
  const std::string which = rule.name.empty() ? "the rule in " + ruleName(rule, sources) : "rule '" + rule.name + "'";
  return fmt::format("removed by {}{}", which, because);
}

/// The partner at one level of the compared factor.
Partner Compared::partnerAt(unsigned level) const {
  // Nearly always nothing else changes with the level, so try that point before searching.
  Partner answer{Partner::Found::One, {point.begin(), point.end()}};
  answer.point[comparison.over] = level;
  const check::Comparison* inner = comparison.gone.empty() ? nullptr : space.study().comparison(comparison.inner);
  const bool there = space.contains(answer.point) && (!inner || Compared{space, *inner, answer.point}.value());
  if (!there) {
    Search search{space, point, comparison.over, level};
    search.inner = inner;
    answer = search.run();
  }
  return answer;
}

Partner Compared::partner() const {
  unsigned own = point[comparison.over];
  if (own == kAbsent || (!comparison.previous && own == comparison.against)) return {};
  if (!comparison.previous) return partnerAt(comparison.against);
  // `previous`: the nearest earlier level at which the study has a partner. A level that only the selection
  // left out still counts, so that a selection never changes which claim is made; the answer is None then.
  Partner first;
  for (unsigned level = own; level-- > 0;) {
    Partner answer = partnerAt(level);
    bool there = answer.found != Partner::Found::None || answer.missing.obstacle.kind == Obstacle::Kind::LeftOut;
    if (there) return answer;
    if (first.found == Partner::Found::NotTreated) first = std::move(answer);
  }
  return first;
}

Partner Compared::value() const {
  if (comparison.aggregates()) return aggregated();
  if (const expand::Condition* where = space.where(comparison); where && !where->holds(point)) return {};
  // Most points of an aggregate's group have no value of it, so no partner is searched for them.
  if (!comparison.gone.empty())
    if (Partner own = Compared{space, *space.study().comparison(comparison.inner), point}.value(); !own) return own;
  Partner outer = partner();
  if (!outer || !comparison.inner) return outer;
  const check::Comparison& inner = space.study().comparisons[*comparison.inner];
  // The inner comparison must have a value on both sides of the outer one.
  for (const Levels side : {point, Levels(outer.point)})
    if (Partner answer = Compared{space, inner, side}.value(); !answer) return answer;
  return outer;
}

void forEachRead(const Space& space, const check::Comparison* comparison, Levels point,
                 function_ref<void(Levels)> visit, bool treated) {
  if (!comparison || comparison->ofProcess()) return visit(point);
  const Compared compared{space, *comparison, point};
  const check::Comparison* inner = space.study().comparison(comparison->inner);
  if (comparison->aggregates()) {
    for (const std::vector<unsigned>& part : compared.parts().points) forEachRead(space, inner, part, visit, treated);
    return;
  }
  forEachRead(space, inner, point, visit, treated);
  if (!treated) forEachRead(space, inner, compared.partner().point, visit);
}

plan::Metric toPlan(const check::Study& study, const check::Metric& metric) {
  plan::Metric result;
  result.name = metric.name;
  result.dimension = metric.dimension.planName();
  result.unit = metric.dimension.baseUnit();
  result.better = metric.better;
  result.kind = metric.kind;
  result.exact = metric.exact;
  result.series = metric.series;
  result.distribution = metric.distribution;
  result.of_process = metric.of_process &&
                      std::ranges::any_of(study.uses, [&](const check::Use& use) { return study.goesInside(use); });
  if (metric.derived) {
    result.derived = derivedTerm(study, *metric.derived);
    result.text = metric.text;
  }
  return result;
}

plan::TermPtr Compared::term(function_ref<std::string(Levels)> name) const {
  using Function = check::Comparison::Function;
  const check::Study& study = space.study();
  const check::Metric& metric = study.metrics[comparison.metric];
  const auto value = [&](Levels at) {
    return comparison.inner ? Compared{space, study.comparisons[*comparison.inner], at}.term(name)
                            : termOf(plan::MetricTerm{metric.name, name(at)});
  };
  if (comparison.ofProcess()) return value(point);
  if (comparison.aggregates()) return aggregateTerm(value, name);
  const std::vector<unsigned> partner = this->partner().point;
  plan::TermPtr treated = value(point), baseline = value(partner);
  const bool efficiency = comparison.function == Function::Efficiency;
  // Whether a lower value of the metric makes the comparison larger, so that the baseline becomes the
  // numerator.
  const bool less_is_more = comparison.function == Function::Speedup ? metric.better != check::Direction::Higher
                                                                     : efficiency && !metric.dimension.isRate();
  if (comparison.function == Function::MaxGap)
    return termOf(plan::GapTerm{std::get<plan::MetricTerm>(treated->node), std::get<plan::MetricTerm>(baseline->node)});
  if (comparison.function == Function::Difference)
    return termOf(plan::OperationTerm{Op::Difference, {std::move(treated), std::move(baseline)}});
  if (less_is_more) std::swap(treated, baseline);
  plan::TermPtr ratio = termOf(plan::OperationTerm{Op::Ratio, {std::move(treated), std::move(baseline)}});
  const bool each =
      comparison.weak ||
      (comparison.shared && !expand::Condition(space, comparison.shared, expand::View::Workload).holds(point));
  if (!efficiency || each) return ratio;
  return termOf(
      plan::ScaleTerm{scaleOf(study, comparison, point[comparison.over], partner[comparison.over]), std::move(ratio)});
}

std::optional<double> idealOf(const check::Study& study, const check::Comparison& comparison, unsigned treated,
                              unsigned baseline, bool shared) {
  using Function = check::Comparison::Function;
  if (comparison.function == Function::Efficiency) return 1;
  const check::Factor& factor = study.factors[comparison.over];
  if (comparison.function != Function::Speedup || comparison.inner || factor.lockstep()) return std::nullopt;
  const check::Parameter& counts = study.parameter(factor.parameters[0]);
  // A factor `nodes` counts devices only if no `gpus` gives their total number.
  const bool more_nodes = counts.name == "nodes" && study.findParameter("gpus") < 0;
  const bool devices = counts.name == "gpus" || more_nodes || counts.strong;
  const bool rate = study.metrics[comparison.metric].dimension.isRate();
  const bool time = study.metrics[comparison.metric].dimension == check::Dimension::of(check::Dimension::Time);
  if (!(rate && devices) && !(time && shared)) return std::nullopt;
  // Labels that are no positive numbers have no ideal.
  for (const unsigned level : {treated, baseline}) {
    const auto* number = factor.levels[level].values[0].asNumber();
    if (!number || number->sign() <= 0) return std::nullopt;
  }
  return 1 / scaleOf(study, comparison, treated, baseline);
}

plan::Estimator estimatorOf(const check::Comparison& comparison) {
  using Function = check::Comparison::Function;
  return comparison.values == Function::Difference                     ? plan::Estimator::PairedDifference
         : !comparison.values || comparison.values == Function::MaxGap ? plan::Estimator::Median
                                                                       : plan::Estimator::PairedRatio;
}

}  // namespace expc::points
