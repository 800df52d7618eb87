#include "compiler/points/terms.h"

#include <cassert>

#include "runtime/plan/plan_words.h"

namespace expc::points {
namespace {

using Op = plan::OperationTerm::Op;

/// `epochs_to(accuracy >= 97%)`: its operand compares a series with a constant.
plan::TermPtr firstTerm(const check::Study& study, const check::Formula& condition) {
  const plan::Relation relation = *check::relationOf(condition.op);
  const check::Value& limit = condition.operands[1]->constant;
  plan::Bound bound{relation, limit.asNumber()->toDouble(), 0, plan::words::relationText(relation, limit.toString())};
  return termOf(plan::FirstTerm{{study.metrics[condition.operands[0]->parameter].name, ""}, std::move(bound)});
}

plan::TermPtr derivedTerm(const check::Study& study, const check::Formula& from) {
  using From = check::Formula::Op;
  if (from.op == From::Constant) return constantTerm(from.constant.asNumber()->toDouble());
  if (from.op == From::Parameter) return termOf(plan::ParameterTerm{study.workload->parameters[from.parameter].name});
  if (from.op == From::Metric) return metricTerm(study.metrics[from.parameter], "");
  if (from.op == From::EpochsTo) return firstTerm(study, *from.operands[0]);
  std::vector<plan::TermPtr> operands;
  for (const check::FormulaPtr& operand : from.operands) operands.push_back(derivedTerm(study, *operand));
  if (from.op == From::Negate) return termOf(plan::OperationTerm{Op::Product, {constantTerm(-1), operands[0]}});
  const auto op = check::operationOf(from.op);
  assert(op && "check lets nothing else into a derived metric");
  // `a + b + c` is one sum of three, so that terms nest no deeper than brackets do.
  const auto* first = std::get_if<plan::OperationTerm>(&operands[0]->node);
  if (first && first->op == *op && (*op == Op::Sum || *op == Op::Product)) {
    std::vector<plan::TermPtr> all = first->operands;
    all.insert(all.end(), operands.begin() + 1, operands.end());
    operands = std::move(all);
  }
  return termOf(plan::OperationTerm{*op, std::move(operands)});
}

/// base / k
double scaleOf(const check::Study& study, const check::Comparison& comparison, unsigned treated, unsigned baseline) {
  const auto& levels = study.factors[comparison.over].levels;
  return levels[baseline].values[0].asNumber()->toDouble() / levels[treated].values[0].asNumber()->toDouble();
}

}  // namespace

plan::Metric toPlan(const check::Study& study, const check::Metric& metric) {
  plan::Metric result;
  result.name = metric.name;
  result.dimension = metric.dimension.planName();
  result.unit = metric.dimension.baseUnit();
  result.better = metric.better;
  result.kind = metric.kind;
  result.exact = metric.exact;
  result.series = metric.series;
  if (metric.derived) {
    result.derived = derivedTerm(study, *metric.derived);
    result.text = metric.text;
  }
  return result;
}

plan::TermPtr constantTerm(double value) { return termOf(plan::ConstantTerm{value}); }

plan::TermPtr metricTerm(const check::Metric& metric, const std::string& point) {
  return termOf(plan::MetricTerm{metric.name, point});
}

plan::TermPtr comparisonTerm(const check::Study& study, const check::Comparison& comparison, const Pairs& pairs,
                             expand::Levels point, llvm::function_ref<std::string(expand::Levels)> name) {
  using Function = check::Comparison::Function;
  const check::Metric& metric = study.metrics[comparison.metric];
  const std::vector<unsigned> partner = pairs.partner(comparison, point).partner;
  const auto value = [&](expand::Levels at) {
    return comparison.inner ? comparisonTerm(study, study.comparisons[*comparison.inner], pairs, at, name)
                            : metricTerm(metric, name(at));
  };
  plan::TermPtr treated = value(point), baseline = value(partner);
  const bool efficiency = comparison.function == Function::Efficiency;
  const bool less_is_more = comparison.function == Function::Speedup ? metric.better != check::Direction::Higher
                                                                     : efficiency && !metric.dimension.isRate();
  if (comparison.function == Function::MaxGap)
    return termOf(plan::GapTerm{std::get<plan::MetricTerm>(treated->node), std::get<plan::MetricTerm>(baseline->node)});
  if (comparison.function == Function::Difference)
    return termOf(plan::OperationTerm{Op::Difference, {std::move(treated), std::move(baseline)}});
  if (less_is_more) std::swap(treated, baseline);
  plan::TermPtr ratio = termOf(plan::OperationTerm{Op::Ratio, {std::move(treated), std::move(baseline)}});
  if (!efficiency || comparison.weak) return ratio;
  return termOf(
      plan::ScaleTerm{scaleOf(study, comparison, point[comparison.over], partner[comparison.over]), std::move(ratio)});
}

std::optional<double> idealOf(const check::Study& study, const check::Comparison& comparison, unsigned treated,
                              unsigned baseline, bool shared) {
  using Function = check::Comparison::Function;
  if (comparison.function == Function::Efficiency) return 1;
  const check::Factor& factor = study.factors[comparison.over];
  if (comparison.function != Function::Speedup || comparison.inner || factor.lockstep()) return std::nullopt;
  const check::Parameter& counts = study.workload->parameters[factor.parameters[0]];
  // More nodes are more devices only where `gpus` does not say how many these are on all of them.
  const bool more_nodes = counts.name == "nodes" && study.workload->findParameter("gpus") < 0;
  const bool devices = counts.name == "gpus" || more_nodes || counts.strong;
  const bool rate = study.metrics[comparison.metric].dimension.isRate();
  const bool time = study.metrics[comparison.metric].dimension == check::Dimension::of(check::Dimension::Time);
  if (!(rate && devices) && !(time && shared)) return std::nullopt;
  for (const unsigned level : {treated, baseline}) {
    const auto* number = factor.levels[level].values[0].asNumber();
    if (!number || number->sign() <= 0) return std::nullopt;
  }
  return 1 / scaleOf(study, comparison, treated, baseline);
}

plan::Estimator estimatorOf(const check::Comparison& comparison) {
  using Function = check::Comparison::Function;
  return comparison.function == Function::Difference ? plan::Estimator::PairedDifference
         : comparison.function == Function::MaxGap   ? plan::Estimator::Median
                                                     : plan::Estimator::PairedRatio;
}

}  // namespace expc::points
