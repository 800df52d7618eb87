// Metrics that a workload measures, and metrics derived from others. A derived metric must be computable from
// one trial: arithmetic over metrics of one kind of trial, parameters and constants. It becomes a term of the
// plan (points::toPlan), so its depth is limited as terms are.

#include <algorithm>
#include <utility>

#include "compiler/check/checker.h"
#include "compiler/check/named.h"

namespace expc::check {
namespace {

EXPC_DIAGNOSTIC(IncompleteMetric, "the metric '{0}' {1}");
EXPC_DIAGNOSTIC(MixedKinds, "'{0}' reads metrics of {1} and of {2} trials, but no trial is both");

/// Whether an operation reads a series as it goes; its operands say which, and are nothing by themselves.
bool readsSeries(Formula::Op op) { return op == Formula::Op::EpochsTo || op == Formula::Op::Reduce; }

/// Whether a derived metric may use an operation: a plan can compute it from a trial's parameters and measured
/// values.
bool isArithmetic(Formula::Op op) {
  using Op = Formula::Op;
  return op == Op::Constant || op == Op::Parameter || op == Op::Metric || readsSeries(op) || op == Op::Negate ||
         operationOf(op);
}

/// Looks an operator up in a table of what plans know; nothing for an operator that they do not know.
template <typename Meaning, size_t N>
std::optional<Meaning> meantBy(Formula::Op op, const std::pair<Formula::Op, Meaning> (&table)[N]) {
  const auto* found = std::ranges::find(table, op, &std::pair<Formula::Op, Meaning>::first);
  return found == std::end(table) ? std::nullopt : std::optional(found->second);
}

/// The first part that no trial can compute, or null.
const Formula* foreignPart(const Formula& formula) {
  if (!isArithmetic(formula.op)) return &formula;
  if (readsSeries(formula.op)) return nullptr;
  for (const FormulaPtr& operand : formula.operands)
    if (const Formula* found = foreignPart(*operand)) return found;
  return nullptr;
}

/// The depth of the term that a formula becomes. `a + b + c` is one sum, so a chain of one operation adds one
/// level.
unsigned termDepth(const Formula& formula) {
  unsigned depth = 0;
  for (const FormulaPtr& operand : formula.operands) {
    const bool same = operand == formula.operands.front() && operand->op == formula.op &&
                      (formula.op == Formula::Op::Add || formula.op == Formula::Op::Multiply);
    depth = std::max(depth, termDepth(*operand) + (same ? 0 : 1));
  }
  return depth;
}

/// The properties that measured and derived metrics declare alike.
Metric introduced(const ast::MetricDecl& declaration) {
  Metric metric;
  metric.name = declaration.name.name;
  metric.doc = declaration.doc;
  metric.range = declaration.name.range;
  metric.exact = declaration.exact;
  if (declaration.direction)
    metric.better = declaration.direction->name == "higher" ? Direction::Higher : Direction::Lower;
  return metric;
}

/// Gives a derived metric its declared type. The type must be that of the formula, or relabel a pure number as
/// a Share or a Ratio. False after a report.
bool relabel(Context& context, const ast::MetricDecl& declaration, ModuleScope& scope, Metric& metric) {
  auto [type, allowed] = resolveType(context, *declaration.type, scope);
  if (type.isError()) return false;
  // A quotient of two times is a plain number; the author knows whether it is a share or a ratio.
  bool pure = metric.dimension.isPure() && type.isNumber() && type.dimension.isPure();
  if (!pure && !(type.isNumber() && type.dimension == metric.dimension))
    return context.emitter.emit(declaration.type->range, UnitMismatch, fmt::format("'{}'", metric.name), type.name(),
                                "its value", metric.dimension.typeName());
  metric.dimension = type.dimension;
  metric.refinement = std::move(allowed);
  return true;
}

}  // namespace

std::optional<Relation> relationOf(Formula::Op op) {
  using From = Formula::Op;
  using enum Relation;
  static constexpr std::pair<From, Relation> kMeant[] = {{From::GreaterEqual, GreaterEqual},
                                                         {From::Greater, Greater},
                                                         {From::LessEqual, LessEqual},
                                                         {From::Less, Less},
                                                         {From::Equal, Equal}};
  return meantBy(op, kMeant);
}

std::optional<plan::OperationTerm::Op> operationOf(Formula::Op op) {
  using From = Formula::Op;
  using enum plan::OperationTerm::Op;
  static constexpr std::pair<From, plan::OperationTerm::Op> kMeant[] = {
      {From::Add, Sum},          {From::Subtract, Difference},
      {From::Multiply, Product}, {From::Divide, Quotient},
      {From::Max, Max},          {From::Min, Min}};
  return meantBy(op, kMeant);
}

Bound boundOf(Relation relation, const Rational& limit, std::string_view written) {
  const double number = limit.toDouble();
  return {relation, number, number, plan::relationText(relation, std::string(written))};
}

void DerivedMetrics::declareAll() {
  place.metrics = this;
  for (size_t i = 0; i < declared.size(); ++i)
    if (declared[i].derived) declare(i);
}

void DerivedMetrics::declare(size_t index) {
  const ast::Identifier& name = declared[index].name;
  if (states[index] == LetEntry::State::Done) return;
  if (states[index] == LetEntry::State::Active)
    return void(context.emitter.emit(name.range, LetCycle, "metric", name.name));
  states[index] = LetEntry::State::Active;
  // The expression may read other derived metrics, which are declared inside this call; keep the reader's
  // state.
  const size_t reader = std::exchange(current, index);
  const auto kind_of_reader = std::exchange(kind, std::nullopt);
  auto metric = check(declared[index]);
  current = reader;
  kind = kind_of_reader;
  states[index] = LetEntry::State::Done;
  if (metric && isFresh(context.emitter, "metric", name, metrics)) metrics.push_back(std::move(*metric));
}

std::optional<Metric> DerivedMetrics::check(const ast::MetricDecl& declaration) {
  Metric metric = introduced(declaration);
  if (declaration.optional)
    return context.emitter.emit(declaration.name.range, IncompleteMetric, metric.name,
                                "has no value where a metric that it reads has none: write 'optional' there");
  metric.text = context.written(declaration.derived->range);
  FormulaPtr value = context.build(*declaration.derived, place);
  if (value->type.isError()) return std::nullopt;
  // Conditions, levels and properties of a machine are not in a plan's terms.
  const Formula* foreign = foreignPart(*value);
  if (foreign || !value->type.isNumber())
    return context.emitter.emit(foreign ? foreign->range : value->range, TypeMismatch, "a derived metric",
                                "built with + - * /, max, min, epochs_to, and median, p99 and the like of a series",
                                context.written((foreign ? foreign : value.get())->range));
  // `use` sets the kind when the expression reads a metric.
  if (!kind) return context.emitter.emit(declaration.derived->range, IncompleteMetric, metric.name, "reads no metric");
  if (termDepth(*value) > plan::kMostDepth)
    return context.emitter.emit(
        declaration.derived->range, IncompleteMetric, metric.name,
        fmt::format("nests terms more than {} deep: build it from fewer metrics that build on one another",
                    plan::kMostDepth));
  metric.dimension = value->type.dimension;
  // A percentile of latencies is better where latencies are; how many there are is no value of them.
  if (value->op == Formula::Op::Reduce && !metric.better) {
    const auto take = static_cast<plan::Reduction::Take>(value->operands[1]->constant.asNumber()->toDouble());
    if (take != plan::Reduction::Take::Count) metric.better = metrics[value->operands[0]->parameter].better;
  }
  metric.of_process = true;
  for (const unsigned read : metricsOf(*value)) metric.of_process &= metrics[read].of_process;
  if (place.parameters)
    for (const unsigned read : parametersOf(*value)) metric.of_process &= !(*place.parameters)[read].inside;
  metric.derived = std::move(value);
  metric.kind = *kind;
  // A stated kind must be that of the metrics it reads.
  if (declaration.kind && declaration.kind->name != toString(metric.kind))
    return context.emitter.emit(declaration.kind->range, MixedKinds, metric.name, declaration.kind->name,
                                toString(metric.kind));
  if (declaration.type && !relabel(context, declaration, *place.module, metric)) return std::nullopt;
  return metric;
}

std::optional<unsigned> DerivedMetrics::find(std::string_view name) {
  // Not there yet: a derived metric further down is declared now.
  if (findNamed(metrics, name) < 0)
    for (size_t i = 0; i < declared.size(); ++i)
      if (declared[i].derived && declared[i].name.name == name) declare(i);
  const int found = findNamed(metrics, name);
  return found < 0 ? std::nullopt : std::optional(unsigned(found));
}

bool DerivedMetrics::declares(std::string_view name) const {
  return findNamed(declared, name) >= 0 || findNamed(metrics, name) >= 0;
}

bool DerivedMetrics::use(const Metric& metric, source::Range range) {
  if (kind && *kind != metric.kind)
    return context.emitter.emit(range, MixedKinds, declared[current].name.name, toString(*kind), toString(metric.kind))
        .note(metric.range, "'{}' comes from {} trials", metric.name, toString(metric.kind));
  kind = metric.kind;
  return true;
}

std::optional<Metric> checkMetric(Context& context, ModuleScope& scope, const ast::MetricDecl& declaration) {
  Metric metric = introduced(declaration);
  metric.distribution = declaration.distribution;
  metric.series = declaration.series || declaration.distribution;
  auto incomplete = [&](std::string_view why) {
    return context.emitter.emit(declaration.name.range, IncompleteMetric, metric.name, why);
  };
  if (declaration.series && declaration.distribution) return incomplete("is a 'series' or a 'distribution', not both");
  if (!declaration.type) return incomplete("needs a type, as in ': Time'");
  // Measured metrics need a direction, since speed-ups and verdicts depend on it.
  if (!declaration.direction) return incomplete("must declare which is better: 'lower' or 'higher'");
  auto [type, allowed] = resolveType(context, *declaration.type, scope);
  if (type.isError()) return std::nullopt;
  if (!type.isNumber()) return incomplete("must be a number or a quantity");
  metric.dimension = type.dimension;
  metric.refinement = std::move(allowed);
  if (declaration.kind) {
    metric.kind = base::valueOf(plan::words::kKind, declaration.kind->name).value_or(metric.kind);
  }
  return metric;
}

}  // namespace expc::check
