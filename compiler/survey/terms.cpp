#include "compiler/survey/terms.h"

namespace expc::lower {
namespace {

template <typename Node>
plan::TermPtr term(Node node) {
  return std::make_shared<const plan::Term>(plan::Term{std::move(node)});
}

}  // namespace

plan::TrialKind toPlan(check::TrialKind kind) {
  switch (kind) {
    case check::TrialKind::Timed:
      return plan::TrialKind::Timed;
    case check::TrialKind::Quality:
      return plan::TrialKind::Quality;
    case check::TrialKind::Profile:
      return plan::TrialKind::Profile;
  }
  return plan::TrialKind::Timed;
}

namespace {

plan::TermPtr derivedTerm(const check::Study& study, const check::MetricTerm& from) {
  using Op = check::MetricTerm::Op;
  auto operand = [&](size_t i) { return derivedTerm(study, *from.operands[i]); };
  switch (from.op) {
    case Op::Constant:
      return constantTerm(from.constant.toDouble());
    case Op::Metric:
      return metricTerm(study.metrics[from.metric], "");
    case Op::EpochsTo:
      return term(plan::FirstTerm{{study.metrics[from.metric].name, ""}, toPlan(from.bound)});
    case Op::Add:
      return term(plan::SumTerm{operand(0), operand(1)});
    case Op::Subtract:
      return term(plan::SumTerm{operand(0), term(plan::ScaleTerm{-1, operand(1)})});
    case Op::Multiply:
      return term(plan::ProductTerm{operand(0), operand(1)});
    case Op::Divide:
      return term(plan::QuotientTerm{operand(0), operand(1)});
  }
  return nullptr;
}

/// base / k
double scaleOf(const check::Study& study, const check::Comparison& comparison, unsigned treated, unsigned baseline) {
  const auto& levels = study.factors[comparison.over].levels;
  return levels[baseline].values[0].asNumber()->toDouble() / levels[treated].values[0].asNumber()->toDouble();
}

bool higherIsBetter(const check::Study& study, const check::Comparison& comparison) {
  if (!comparison.inner) return study.metrics[comparison.metric].better == check::Direction::Higher;
  const check::Comparison& inner = study.comparisons[*comparison.inner];
  using Function = check::Comparison::Function;
  if (inner.function == Function::Speedup || inner.function == Function::Efficiency) return true;
  return inner.function != Function::MaxGap && higherIsBetter(study, inner);
}

}  // namespace

plan::Metric toPlan(const check::Study& study, const check::Metric& metric) {
  plan::Metric result;
  result.name = metric.name;
  result.dimension = metric.dimension.planName();
  result.unit = metric.dimension.baseUnit();
  result.better = metric.better == check::Direction::Higher ? plan::Direction::Higher : plan::Direction::Lower;
  result.kind = toPlan(metric.kind);
  result.exact = metric.exact;
  result.series = metric.series;
  if (metric.derived) {
    result.derived = derivedTerm(study, *metric.derived);
    result.text = metric.text;
  }
  return result;
}

plan::Bound toPlan(const check::Bound& bound) {
  using From = check::Bound::Relation;
  plan::Bound result;
  switch (bound.relation) {
    case From::GreaterEqual:
      result.relation = plan::Relation::GreaterEqual;
      break;
    case From::Greater:
      result.relation = plan::Relation::Greater;
      break;
    case From::LessEqual:
      result.relation = plan::Relation::LessEqual;
      break;
    case From::Less:
      result.relation = plan::Relation::Less;
      break;
    case From::Equal:
      result.relation = plan::Relation::Equal;
      break;
    case From::Within:
      result.relation = plan::Relation::Within;
      break;
  }
  result.low = bound.low.toDouble();
  result.high = bound.high.toDouble();
  result.text = bound.text;
  return result;
}

plan::TermPtr constantTerm(double value) { return term(plan::ConstantTerm{value}); }

plan::TermPtr metricTerm(const check::Metric& metric, const std::string& point) {
  return term(plan::MetricTerm{metric.name, point});
}

plan::TermPtr comparisonTerm(const check::Study& study, const check::Comparison& comparison, plan::TermPtr treated,
                             unsigned treated_level, plan::TermPtr baseline, unsigned baseline_level) {
  using Function = check::Comparison::Function;
  switch (comparison.function) {
    case Function::Speedup:
      if (higherIsBetter(study, comparison)) return term(plan::RatioTerm{treated, baseline});
      return term(plan::RatioTerm{baseline, treated});
    case Function::Ratio:
      return term(plan::RatioTerm{treated, baseline});
    case Function::Difference:
      return term(plan::DifferenceTerm{treated, baseline});
    case Function::MaxGap:
      return term(plan::GapTerm{std::get<plan::MetricTerm>(treated->node), std::get<plan::MetricTerm>(baseline->node)});
    case Function::Efficiency:
      break;
  }
  return term(plan::ScaleTerm{scaleOf(study, comparison, treated_level, baseline_level),
                              term(plan::RatioTerm{treated, baseline})});
}

std::optional<double> compareValues(const check::Study& study, const check::Comparison& comparison, double treated,
                                    unsigned treated_level, double baseline, unsigned baseline_level) {
  using Function = check::Comparison::Function;
  auto quotient = [](double above, double below) {
    return below == 0 ? std::optional<double>() : std::optional(above / below);
  };
  switch (comparison.function) {
    case Function::Speedup:
      return higherIsBetter(study, comparison) ? quotient(treated, baseline) : quotient(baseline, treated);
    case Function::Ratio:
      return quotient(treated, baseline);
    case Function::Difference:
      return treated - baseline;
    case Function::MaxGap:
      return std::nullopt;
    case Function::Efficiency:
      break;
  }
  auto ratio = quotient(treated, baseline);
  return ratio ? std::optional(*ratio * scaleOf(study, comparison, treated_level, baseline_level)) : std::nullopt;
}

plan::Estimator estimatorOf(const check::Comparison& comparison) {
  switch (comparison.function) {
    case check::Comparison::Function::Difference:
      return plan::Estimator::PairedDifference;
    case check::Comparison::Function::MaxGap:
      return plan::Estimator::Median;
    default:
      return plan::Estimator::PairedRatio;
  }
}

}  // namespace expc::lower
