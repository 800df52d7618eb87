#include "runtime/judge/format.h"

#include "runtime/base/find.h"
#include "runtime/base/numbers.h"
#include "runtime/stats/procedures.h"

namespace expc::judge {
namespace {

const MetricTerm* soleMetric(const plan::Term& term) {
  if (const auto* metric = term.as<MetricTerm>()) return metric;
  if (const auto* scale = term.as<plan::ScaleTerm>()) return soleMetric(*scale->term);
  if (const auto* aggregate = term.as<plan::AggregateTerm>()) return soleMetric(*aggregate->parts[0]);
  const auto* operation = term.as<plan::OperationTerm>();
  if (operation && operation->op == plan::OperationTerm::Op::Difference) return soleMetric(*operation->operands[0]);
  return nullptr;
}

}  // namespace

bool showsLittle(unsigned n) { return stats::zeroFailuresBound(n) > 0.5; }

std::string_view dimensionOf(const Plan& plan, const plan::Cell& cell) {
  if (!cell.term) return "";
  const MetricTerm* metric = soleMetric(*cell.term);
  const Metric* declared = metric ? plan.findMetric(metric->metric) : nullptr;
  if (!declared) return "";
  const bool aggregate = cell.term->as<plan::AggregateTerm>() && !plan::isPaired(cell);
  const bool alone = aggregate || cell.term->as<MetricTerm>();
  return alone || declared->dimension != "share" ? std::string_view(declared->dimension) : base::kPoints;
}

std::string widthText(const Plan& plan, const plan::Until& until, double width) {
  if (until.relative) return base::formatQuantity(width, "", "share");
  if (const Comparison* comparison = base::named(plan.comparisons, until.subject))
    return base::formatQuantity(width, comparison->unit);
  const Metric* metric = plan.findMetric(until.subject);
  return base::formatQuantity(width, metric ? metric->unit : "", metric ? metric->dimension : "");
}

}  // namespace expc::judge
