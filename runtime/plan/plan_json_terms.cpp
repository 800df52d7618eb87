#include <fmt/format.h>

#include "runtime/plan/described.h"
#include "runtime/plan/plan_fields.h"
#include "runtime/plan/plan_words.h"

namespace expc::plan {
namespace {

/// Terms and claims are evaluated by recursion; the compiler writes far shallower ones.
constexpr unsigned kMaxTermDepth = 64;

/// The term of a kind, where it is one by what is read or written; else null.
template <typename Node>
Node* nodeOf(JsonRecord& io, JsonRecord::Key key, Term& term) {
  if (!io.reads()) return std::get_if<Node>(&term.node);
  return io.in().has(key) ? &term.node.emplace<Node>() : nullptr;
}

}  // namespace

void PlanFields::describe(JsonRecord& io, Cell& cell, size_t label_count) {
  io.field("labels", cell.labels);
  io.word("estimator", cell.estimator, words::kEstimator);
  io.word("kind", cell.kind, words::kKind);
  describeTerm(io, "term", cell.term, Scope{cell.kind, false}, 0);
  std::vector<std::string> points;
  for (const Place& place : cell.points) points.push_back(place.point);
  io.field("points", points);
  io.optional("ideal", cell.ideal);
  io.optionalObject("bound", cell.bound, kDescribed);
  if (!io.reads()) return;
  if (cell.labels.size() != label_count)
    io.fail("labels", fmt::format("{} labels for {} factors", cell.labels.size(), label_count));
  if (cell.ideal && *cell.ideal <= 0) io.fail("ideal", "is not above 0");
  for (std::string& point : points) {
    if (!points_.contains(point)) io.fail("points", quoted(point) + " is no point of the plan");
    cell.points.push_back(std::move(point));
  }
}

void PlanFields::describe(JsonRecord& io, OperationTerm& operation, Scope scope, unsigned depth) {
  using Op = OperationTerm::Op;
  const JsonRecord::Key key = words::kOperation[static_cast<size_t>(operation.op)];
  io.list(key, operation.operands,
          [&](JsonRecord& inner, TermPtr& operand) { describe(inner, operand, scope, depth + 1); });
  const Op op = operation.op;
  const bool more = op == Op::Sum || op == Op::Product || op == Op::Max || op == Op::Min;
  const size_t count = operation.operands.size();
  if (io.reads() && (count < 2 || (count > 2 && !more)))
    io.fail(key, fmt::format("expected two terms{}, found {}", more ? " or more" : "", count));
}

void PlanFields::describe(JsonRecord& io, MetricTerm& metric, Scope scope, bool series) {
  io.field("metric", metric.metric);
  // Inside a derived metric the point is the one in question.
  if (!scope.inside_point) io.field("point", metric.place.point);
  if (!io.reads()) return;
  const auto known = metrics_.find(metric.metric);
  if (known == metrics_.end())
    io.fail("metric", quoted(metric.metric) + " is no metric of the plan");
  else if (known->second.kind != scope.kind)
    io.fail("metric",
            fmt::format("'{}' is measured by {} trials, {} reads {} ones", metric.metric, toString(known->second.kind),
                        scope.inside_point ? "this metric" : "the cell", toString(scope.kind)));
  else if (series && !known->second.series)
    io.fail("metric", quoted(metric.metric) + " is no series");
  if (!scope.inside_point && !points_.contains(metric.place.point))
    io.fail("point", quoted(metric.place.point) + " is no point of the plan");
}

void PlanFields::describe(JsonRecord& io, GapTerm& gap, Scope scope) {
  std::vector<MetricTerm> series;
  if (!io.reads()) series = {gap.treated, gap.baseline};
  io.list("gap", series, [&](JsonRecord& inner, MetricTerm& one) { describe(inner, one, scope, true); });
  if (!io.reads()) return;
  if (series.size() != 2) io.fail("gap", fmt::format("expected two series, found {}", series.size()));
  series.resize(2);
  gap = {std::move(series[0]), std::move(series[1])};
}

void PlanFields::describeTerm(JsonRecord& io, JsonRecord::Key key, TermPtr& term, Scope scope, unsigned depth) {
  io.object(key, term, [&](JsonRecord& inner, TermPtr& one) { describe(inner, one, scope, depth); });
}

void PlanFields::describe(JsonRecord& io, TermPtr& shared, Scope scope, unsigned depth) {
  if (depth > kMaxTermDepth && io.reads()) return io.fail(fmt::format("terms nested deeper than {}", kMaxTermDepth));
  // A term that is read is nobody else's yet, and writing changes none.
  const auto made = io.reads() ? std::make_shared<Term>() : nullptr;
  if (made) shared = made;
  Term& term = const_cast<Term&>(*shared);
  // A derived value has no partner: inside a point nothing is compared.
  const bool cell = !scope.inside_point;
  if (auto* constant = nodeOf<ConstantTerm>(io, "constant", term)) return io.field("constant", constant->value);
  if (auto* parameter = cell ? nullptr : nodeOf<ParameterTerm>(io, "parameter", term))
    return io.field("parameter", parameter->parameter);
  if (auto* metric = nodeOf<MetricTerm>(io, "metric", term)) return describe(io, *metric, scope, false);
  for (size_t i = 0; i < std::size(words::kOperation); ++i) {
    const auto op = static_cast<OperationTerm::Op>(i);
    if (!cell && op == OperationTerm::Op::Ratio) continue;
    auto* operation = nodeOf<OperationTerm>(io, words::kOperation[i], term);
    if (operation && io.reads()) operation->op = op;
    if (operation && operation->op == op) return describe(io, *operation, scope, depth);
  }
  if (auto* first = nodeOf<FirstTerm>(io, "first", term)) {
    io.object("first", first->series, [&](JsonRecord& inner, MetricTerm& one) { describe(inner, one, scope, true); });
    io.object("bound", first->bound, kDescribed);
  } else if (auto* gap = cell ? nodeOf<GapTerm>(io, "gap", term) : nullptr) {
    describe(io, *gap, scope);
  } else if (auto* scale = nodeOf<ScaleTerm>(io, "scale", term)) {
    io.field("scale", scale->factor);
    describeTerm(io, "of", scale->term, scope, depth + 1);
  } else {
    io.fail(fmt::format(
        "expected a term{}: constant, {}metric, first, {}scale, sum, difference, product, quotient, "
        "{}max or min",
        cell ? "" : " of a derived metric", cell ? "" : "parameter, ", cell ? "gap, " : "", cell ? "ratio, " : ""));
  }
}

void PlanFields::describe(JsonRecord& io, Comparison& comparison) {
  io.field("name", comparison.name);
  io.field("text", comparison.text);
  io.field("over", comparison.over);
  io.field("unit", comparison.unit);
  describeFactorNames(io, "factors", comparison.factors);
  if (io.reads() && !factors_.contains(comparison.over))
    io.fail("over", quoted(comparison.over) + " is no factor of the plan");
  io.list("cells", comparison.cells,
          [&](JsonRecord& inner, Cell& cell) { describe(inner, cell, comparison.factors.size()); });
  io.optional("without_partner", comparison.without_partner);
  io.optional("without_partner_why", comparison.without_partner_why);
  if (io.reads()) requireName(io, "name", comparison.name);
  if (io.reads() && (metrics_.contains(comparison.name) || !comparisons_.insert(comparison.name).second))
    io.fail("name", quoted(comparison.name) + " is taken by another comparison or metric");
}

void PlanFields::describe(JsonRecord& io, Claim& claim, size_t cells, unsigned depth, bool& reaches_cell) {
  if (depth > kMaxTermDepth && io.reads())
    return io.fail(fmt::format("quantifiers nested deeper than {}", kMaxTermDepth));
  io.word("is", claim.kind, words::kClaim);
  if (claim.kind != Claim::Kind::Cell)
    return io.list("children", claim.children,
                   [&](JsonRecord& inner, Claim& child) { describe(inner, child, cells, depth + 1, reaches_cell); });
  io.field("cell", claim.cell);
  if (io.reads() && claim.cell >= cells) io.fail("cell", fmt::format("cell {} of {}", claim.cell, cells));
  reaches_cell = true;
}

void PlanFields::describe(JsonRecord& io, Criterion& criterion) {
  io.field("name", criterion.name);
  io.field("text", criterion.text);
  io.field("doc", criterion.doc);
  io.optional("where", criterion.where);
  describeFactorNames(io, "factors", criterion.factors);
  io.list("cells", criterion.cells, [&](JsonRecord& inner, Cell& cell) {
    describe(inner, cell, criterion.factors.size());
    if (inner.reads() && cell.points.empty()) inner.fail("a cell needs a point");
  });
  io.object("bound", criterion.bound, kDescribed);
  io.optional("infeasible", criterion.infeasible);
  io.optional("confidence", criterion.confidence);
  io.field("unit", criterion.unit);
  io.field("domain", criterion.domain);
  io.field("not_asked", criterion.not_asked);
  bool reaches_cell = false;
  io.object("claim", criterion.claim,
            [&](JsonRecord& inner, Claim& claim) { describe(inner, claim, criterion.cells.size(), 0, reaches_cell); });
  if (!io.reads()) return;
  if (criterion.confidence && (*criterion.confidence <= 0 || *criterion.confidence >= 1))
    io.fail("confidence", "is not between 0 and 1");
  // Such a criterion would pass whatever is measured.
  if (!reaches_cell && !criterion.not_asked) io.fail("claim", "claims nothing: no cell is reached");
  requireName(io, "name", criterion.name);
  if (!criteria_.insert(criterion.name).second)
    io.fail("name", quoted(criterion.name) + " is a second criterion of that name");
}

}  // namespace expc::plan
