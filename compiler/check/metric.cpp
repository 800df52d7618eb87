// Metrics: what a workload measures, where a command's are read, and what is derived from others.

#include <cassert>

#include "compiler/check/checker.h"

namespace expc::check {
namespace {

EXPC_DIAGNOSTIC(IncompleteMetric, Error, "the metric '{0}' {1}", std::string_view, std::string_view);
EXPC_DIAGNOSTIC(MixedKinds, Error, "'{0}' mixes {1} and {2} trials, which are never the same run", std::string_view,
                std::string_view, std::string_view);
EXPC_DIAGNOSTIC(NotASeries, Error, "'{0}' is no series", std::string_view);

/// Builds the term of a derived metric.
class Deriver {
 public:
  Deriver(Context& context, const std::vector<Metric>& metrics, Place place, std::string_view name)
      : context_(context), metrics_(metrics), place_(place), name_(name) {}

  struct Built {
    MetricTermPtr term;  // null after a report
    Dimension dimension;
  };

  Built build(const ast::Expr& expr) {
    if (auto* name = std::get_if<ast::NameExpr>(&expr.node); name && name->name.parts.size() == 1)
      if (int index = find(name->name.parts[0].name); index >= 0) return metric(expr, static_cast<unsigned>(index));
    if (auto* binary = std::get_if<ast::BinaryExpr>(&expr.node)) return operation(expr, *binary);
    if (auto* call = std::get_if<ast::CallExpr>(&expr.node)) return epochsTo(expr, *call);
    if (auto* unary = std::get_if<ast::UnaryExpr>(&expr.node); unary && unary->op == ast::UnaryOp::Negate) {
      Built operand = build(*unary->operand);
      if (!operand.term) return {};
      return {combine(MetricTerm::Op::Multiply, constant(Rational(-1)), operand.term), operand.dimension};
    }
    if (auto* name = std::get_if<ast::NameExpr>(&expr.node)) return constantNamed(expr, *name);
    auto value = context_.expressions.number(expr, place_, "a part of a derived metric");
    if (!value) return {};
    return {constant(*value->asNumber()), std::get<Value::Number>(value->node).dimension};
  }

  std::optional<TrialKind> kind() const { return kind_; }

 private:
  int find(std::string_view name) const {
    for (size_t i = 0; i < metrics_.size(); ++i)
      if (metrics_[i].name == name) return static_cast<int>(i);
    return -1;
  }

  static MetricTermPtr constant(Rational value) {
    MetricTerm term;
    term.constant = value;
    return std::make_shared<const MetricTerm>(std::move(term));
  }
  static MetricTermPtr combine(MetricTerm::Op op, MetricTermPtr left, MetricTermPtr right) {
    MetricTerm term;
    term.op = op;
    term.operands = {std::move(left), std::move(right)};
    return std::make_shared<const MetricTerm>(std::move(term));
  }

  /// Marks that a metric is read; false after a report where its trials are others than those of what was read before.
  bool use(const Metric& metric, source::Range range) {
    if (kind_ && *kind_ != metric.kind) {
      context_.emitter.build(range, MixedKinds, name_, toString(*kind_), toString(metric.kind))
          .note(metric.range, "'{}' comes from {} trials", metric.name, toString(metric.kind))
          .emit();
      return false;
    }
    kind_ = metric.kind;
    return true;
  }

  Built metric(const ast::Expr& expr, unsigned index) {
    const Metric& read = metrics_[index];
    if (!use(read, expr.range)) return {};
    if (read.derived) return {read.derived, read.dimension};
    if (read.series) {
      errors::seriesValue(context_.emitter, expr.range, read.name, read.range);
      return {};
    }
    MetricTerm term;
    term.op = MetricTerm::Op::Metric;
    term.metric = index;
    return {std::make_shared<const MetricTerm>(std::move(term)), read.dimension};
  }

  /// A `let`, or a name that means nothing here.
  Built constantNamed(const ast::Expr& expr, const ast::NameExpr& name) {
    const ast::Identifier& word = name.name.parts[0];
    bool known = name.name.parts.size() > 1 || (place_.lets && place_.lets->contains(word.name)) ||
                 place_.module->lets.contains(word.name);
    if (!known) {
      // One that was refused, or is defined by itself, was reported.
      if (place_.study && place_.study->declaration)
        for (const ast::MetricDecl& declared : place_.study->declaration->metrics)
          if (declared.name.name == word.name) return {};
      std::vector<std::string> names;
      for (const Metric& metric : metrics_) names.push_back(metric.name);
      diag::unknownName(context_.emitter, word.range, "metric", word.name, names);
      return {};
    }
    auto value = context_.expressions.number(expr, place_, "a part of a derived metric");
    if (!value) return {};
    return {constant(*value->asNumber()), std::get<Value::Number>(value->node).dimension};
  }

  Built operation(const ast::Expr& expr, const ast::BinaryExpr& binary) {
    using Op = MetricTerm::Op;
    Op op;
    switch (binary.op) {
      case ast::BinaryOp::Add:
        op = Op::Add;
        break;
      case ast::BinaryOp::Subtract:
        op = Op::Subtract;
        break;
      case ast::BinaryOp::Multiply:
        op = Op::Multiply;
        break;
      case ast::BinaryOp::Divide:
        op = Op::Divide;
        break;
      default:
        context_.emitter.emit(expr.range, errors::TypeMismatch, "a derived metric", "made with + - * /", "a condition");
        return {};
    }
    Built left = build(*binary.left), right = build(*binary.right);
    if (!left.term || !right.term) return {};
    bool sum = op == Op::Add || op == Op::Subtract;
    auto dimension = sum ? (left.dimension == right.dimension ? std::optional(left.dimension) : std::nullopt)
                     : op == Op::Multiply ? left.dimension.times(right.dimension)
                                          : left.dimension.over(right.dimension);
    if (!dimension) {
      context_.emitter.emit(expr.range, errors::UnitMismatch, "the left side", left.dimension.typeName(),
                            "the right side", right.dimension.typeName());
      return {};
    }
    return {combine(op, left.term, right.term), *dimension};
  }

  /// `epochs_to(accuracy_curve >= 97%)`
  Built epochsTo(const ast::Expr& expr, const ast::CallExpr& call) {
    if (call.callee.parts.size() != 1 || call.callee.parts[0].name != "epochs_to") {
      diag::unknownName(context_.emitter, call.callee.range, "function of metrics", joined(call.callee), {"epochs_to"});
      return {};
    }
    auto* condition =
        call.arguments.size() == 1 ? std::get_if<ast::BinaryExpr>(&call.arguments[0].value->node) : nullptr;
    auto* name = condition ? std::get_if<ast::NameExpr>(&condition->left->node) : nullptr;
    auto relation = condition ? relationOf(condition->op) : std::nullopt;
    if (!name || !relation || name->name.parts.size() != 1) {
      context_.emitter.emit(expr.range, errors::TypeMismatch, "what 'epochs_to' takes",
                            "a series and a bound, as in 'accuracy >= 97%'",
                            squeeze(context_.sources.text(expr.range)));
      return {};
    }
    const ast::Identifier& word = name->name.parts[0];
    int index = find(word.name);
    if (index < 0) return constantNamed(*condition->left, *name);
    const Metric& series = metrics_[index];
    if (!series.series) {
      context_.emitter.build(word.range, NotASeries, series.name)
          .note(series.range,
                "it has one value in each trial; a series is declared 'metric {} : Series' or with the "
                "trait 'series'",
                series.name)
          .emit();
      return {};
    }
    if (!use(series, word.range)) return {};
    auto limit = context_.expressions.constant(*condition->right, place_, Type::number(series.dimension), "the bound");
    if (!limit) return {};
    MetricTerm term;
    term.op = MetricTerm::Op::EpochsTo;
    term.metric = static_cast<unsigned>(index);
    term.bound = {*relation, *limit->asNumber(), *limit->asNumber(),
                  fmt::format("{} {}", spelled(*relation), squeeze(context_.sources.text(condition->right->range)))};
    return {std::make_shared<const MetricTerm>(std::move(term)), {}};
  }

  Context& context_;
  const std::vector<Metric>& metrics_;
  Place place_;
  std::string_view name_;
  std::optional<TrialKind> kind_;
};

/// A derived metric may say what its plain number is: a Share or a Ratio.
bool relabel(Context& context, const ast::MetricDecl& declaration, ModuleScope& scope, Metric& metric) {
  auto [type, allowed] = resolveType(context, *declaration.type, scope);
  if (type.isError()) return false;
  bool pure = metric.dimension.isPure() && type.kind == Type::Kind::Number && type.dimension.isPure();
  if (!pure && !(type.kind == Type::Kind::Number && type.dimension == metric.dimension)) {
    context.emitter.emit(declaration.type->range, errors::UnitMismatch, fmt::format("'{}'", metric.name), type.name(),
                         "its value", metric.dimension.typeName());
    return false;
  }
  metric.dimension = type.dimension;
  metric.refinement = std::move(allowed);
  return true;
}

}  // namespace

std::optional<Bound::Relation> relationOf(ast::BinaryOp op) {
  switch (op) {
    case ast::BinaryOp::GreaterEqual:
      return Bound::Relation::GreaterEqual;
    case ast::BinaryOp::Greater:
      return Bound::Relation::Greater;
    case ast::BinaryOp::LessEqual:
      return Bound::Relation::LessEqual;
    case ast::BinaryOp::Less:
      return Bound::Relation::Less;
    case ast::BinaryOp::Equal:
      return Bound::Relation::Equal;
    default:
      return std::nullopt;
  }
}

std::string_view spelled(Bound::Relation relation) {
  static constexpr std::string_view kSigns[] = {">=", ">", "<=", "<", "==", "within"};
  return kSigns[static_cast<int>(relation)];
}

std::optional<Metric> checkDerivedMetric(Context& context, const ast::MetricDecl& declaration,
                                         const std::vector<Metric>& metrics, Place place) {
  Metric metric;
  metric.name = declaration.name.name;
  metric.doc = declaration.doc;
  metric.range = declaration.name.range;
  metric.text = squeeze(context.sources.text(declaration.derived->range));
  Deriver deriver(context, metrics, place, metric.name);
  auto [term, dimension] = deriver.build(*declaration.derived);
  if (!term) return std::nullopt;
  if (!deriver.kind()) {
    context.emitter.emit(declaration.derived->range, IncompleteMetric, metric.name, "reads no metric");
    return std::nullopt;
  }
  metric.derived = std::move(term);
  metric.dimension = dimension;
  metric.kind = *deriver.kind();
  metric.exact = declaration.exact;
  if (declaration.direction)
    metric.better = declaration.direction->name == "higher" ? Direction::Higher : Direction::Lower;
  if (declaration.kind && declaration.kind->name != toString(metric.kind)) {
    context.emitter.emit(declaration.kind->range, MixedKinds, metric.name, declaration.kind->name,
                         toString(metric.kind));
    return std::nullopt;
  }
  if (declaration.type && !relabel(context, declaration, *place.module, metric)) return std::nullopt;
  return metric;
}

std::optional<Metric> checkMetric(Context& context, ModuleScope& scope, const ast::MetricDecl& declaration) {
  Metric metric;
  metric.name = declaration.name.name;
  metric.doc = declaration.doc;
  metric.range = declaration.name.range;
  metric.exact = declaration.exact;
  metric.series = declaration.series;
  auto incomplete = [&](std::string_view why) {
    context.emitter.emit(declaration.name.range, IncompleteMetric, metric.name, why);
    return std::nullopt;
  };
  if (!declaration.type) return incomplete("needs a type, as in ': Time'");
  if (!declaration.direction) return incomplete("must say which is better: 'lower' or 'higher'");
  bool bare_series = declaration.type->shape == ast::TypeExpr::Shape::Named && declaration.type->per.empty() &&
                     joined(declaration.type->name) == "Series";
  if (bare_series) {
    metric.series = true;
  } else {
    auto [type, allowed] = resolveType(context, *declaration.type, scope);
    if (type.isError()) return std::nullopt;
    if (type.kind != Type::Kind::Number) return incomplete("must be a number or a quantity");
    metric.dimension = type.dimension;
    metric.refinement = std::move(allowed);
  }
  metric.better = declaration.direction->name == "higher" ? Direction::Higher : Direction::Lower;
  if (declaration.kind) {
    const std::string& kind = declaration.kind->name;
    metric.kind = static_cast<TrialKind>(language::indexOf(language::Role::Kind, kind));
  }
  return metric;
}

}  // namespace expc::check
