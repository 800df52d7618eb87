#include "compiler/lower/terms.h"

#include <cassert>

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

plan::Metric toPlan(const check::Metric& metric) {
  plan::Metric result;
  result.name = metric.name;
  result.dimension = metric.dimension.planName();
  result.unit = metric.dimension.baseUnit();
  result.better = metric.better == check::Direction::Higher ? plan::Direction::Higher : plan::Direction::Lower;
  result.kind = toPlan(metric.kind);
  result.exact = metric.exact;
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

plan::TermPtr metricTerm(const check::Metric& metric, const std::string& point) {
  return term(plan::MetricTerm{metric.name, point});
}

plan::TermPtr comparisonTerm(const check::Study& study, const check::Comparison& comparison, const std::string& treated,
                             unsigned treated_level, const std::string& baseline, unsigned baseline_level) {
  using Function = check::Comparison::Function;
  const check::Metric& metric = study.workload->metrics[comparison.metric];
  plan::TermPtr mine = metricTerm(metric, treated), theirs = metricTerm(metric, baseline);
  switch (comparison.function) {
    case Function::Speedup:
      if (metric.better == check::Direction::Lower) return term(plan::RatioTerm{theirs, mine});
      return term(plan::RatioTerm{mine, theirs});
    case Function::Ratio:
      return term(plan::RatioTerm{mine, theirs});
    case Function::Difference:
      return term(plan::DifferenceTerm{mine, theirs});
    case Function::Efficiency:
      break;
  }
  const auto& levels = study.factors[comparison.over].levels;
  double scale =
      levels[baseline_level].value.asNumber()->toDouble() / levels[treated_level].value.asNumber()->toDouble();
  return term(plan::ScaleTerm{scale, term(plan::RatioTerm{mine, theirs})});
}

plan::Estimator estimatorOf(const check::Comparison& comparison) {
  return comparison.function == check::Comparison::Function::Difference ? plan::Estimator::PairedDifference
                                                                        : plan::Estimator::PairedRatio;
}

}  // namespace expc::lower
