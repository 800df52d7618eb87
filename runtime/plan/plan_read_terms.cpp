#include <fmt/format.h>

#include "runtime/plan/bound_json.h"
#include "runtime/plan/plan_reader.h"
#include "runtime/plan/plan_words.h"

namespace expc::plan {
namespace {

/// Terms and claims are evaluated by recursion; the compiler writes far shallower ones.
constexpr unsigned kMaxTermDepth = 64;

}  // namespace

using llvm::json::Value;

Cell PlanReader::readCell(const Value& value, const JsonPath& at, size_t label_count) {
  JsonFields in(errors_, value, at);
  Cell cell;
  cell.labels = in.strings("labels");
  if (cell.labels.size() != label_count)
    in.fail("labels", fmt::format("{} labels for {} factors", cell.labels.size(), label_count));
  cell.estimator = in.word<Estimator>("estimator", words::kEstimator);
  cell.kind = in.word<TrialKind>("kind", words::kKind);
  if (const Value* term = in.value("term"))
    cell.term = readTerm(*term, JsonPath{&at, "term", std::nullopt}, Scope{cell.kind, false}, 0);
  else
    in.fail("term", "missing, expected an object");
  for (std::string& point : in.strings("points")) {
    if (!points_.contains(point)) in.fail("points", quoted(point) + " is no point of the plan");
    cell.points.push_back(std::move(point));
  }
  if (in.has("ideal") && *(cell.ideal = in.number("ideal")) <= 0) in.fail("ideal", "is not above 0");
  if (in.has("bound")) cell.bound = readBound(*in.value("bound"), JsonPath{&at, "bound", std::nullopt});
  in.refuseOthers();
  return cell;
}

OperationTerm PlanReader::readOperation(JsonFields& in, OperationTerm::Op op, Scope scope, unsigned depth) {
  using Op = OperationTerm::Op;
  const llvm::StringRef key = words::name(words::kOperation, op);
  OperationTerm operation{op, {}};
  in.each(key, [&](const Value& item, const JsonPath& at) {
    operation.operands.push_back(readTerm(item, at, scope, depth + 1));
  });
  const bool more = op == Op::Sum || op == Op::Product || op == Op::Max || op == Op::Min;
  const size_t count = operation.operands.size();
  if (count < 2 || (count > 2 && !more))
    in.fail(key, fmt::format("expected two terms{}, found {}", more ? " or more" : "", count));
  return operation;
}

MetricTerm PlanReader::readMetricTerm(JsonFields& in, Scope scope, bool series) {
  MetricTerm metric{in.string("metric"), scope.inside_point ? "" : in.string("point")};
  const auto known = metrics_.find(metric.metric);
  if (known == metrics_.end())
    in.fail("metric", quoted(metric.metric) + " is no metric of the plan");
  else if (known->second.kind != scope.kind)
    in.fail("metric",
            fmt::format("'{}' is measured by {} trials, {} reads {} ones", metric.metric, toString(known->second.kind),
                        scope.inside_point ? "this metric" : "the cell", toString(scope.kind)));
  else if (series && !known->second.series)
    in.fail("metric", quoted(metric.metric) + " is no series");
  if (!scope.inside_point && !points_.contains(metric.place.point))
    in.fail("point", quoted(metric.place.point) + " is no point of the plan");
  return metric;
}

MetricTerm PlanReader::readSeries(const Value& value, const JsonPath& at, Scope scope) {
  JsonFields in(errors_, value, at);
  MetricTerm series = readMetricTerm(in, scope, true);
  in.refuseOthers();
  return series;
}

FirstTerm PlanReader::readFirst(JsonFields& in, const JsonPath& at, Scope scope) {
  FirstTerm first;
  first.series = readSeries(*in.value("first"), JsonPath{&at, "first", std::nullopt}, scope);
  if (const Value* bound = in.value("bound"))
    first.bound = readBound(*bound, JsonPath{&at, "bound", std::nullopt});
  else
    in.fail("bound", "missing, expected an object");
  return first;
}

GapTerm PlanReader::readGap(JsonFields& in, Scope scope) {
  MetricTerm series[2];
  size_t count = 0;
  in.each("gap", [&](const Value& item, const JsonPath& at) {
    if (count < 2) series[count] = readSeries(item, at, scope);
    ++count;
  });
  if (count != 2) in.fail("gap", fmt::format("expected two series, found {}", count));
  return {std::move(series[0]), std::move(series[1])};
}

TermPtr PlanReader::readTerm(const Value& value, const JsonPath& at, Scope scope, unsigned depth) {
  if (depth > kMaxTermDepth) {
    errors_.add(at, fmt::format("terms nested deeper than {}", kMaxTermDepth));
    return nullptr;
  }
  JsonFields in(errors_, value, at);
  Term term;
  // A derived value has no partner: inside a point nothing is compared.
  const bool cell = !scope.inside_point;
  std::optional<OperationTerm::Op> operation;
  for (size_t i = 0; i < std::size(words::kOperation); ++i) {
    const auto op = static_cast<OperationTerm::Op>(i);
    if (in.has(words::kOperation[i]) && (cell || op != OperationTerm::Op::Ratio)) operation = op;
  }
  if (in.has("constant")) {
    term.node = ConstantTerm{in.number("constant")};
  } else if (in.has("metric")) {
    term.node = readMetricTerm(in, scope, false);
  } else if (operation) {
    term.node = readOperation(in, *operation, scope, depth);
  } else if (in.has("first")) {
    term.node = readFirst(in, at, scope);
  } else if (cell && in.has("gap")) {
    term.node = readGap(in, scope);
  } else if (in.has("scale")) {
    ScaleTerm scale{in.number("scale"), nullptr};
    if (const Value* inner = in.value("of"))
      scale.term = readTerm(*inner, JsonPath{&at, "of", std::nullopt}, scope, depth + 1);
    else
      in.fail("of", "missing, expected a term");
    term.node = std::move(scale);
  } else {
    errors_.add(at, fmt::format("expected a term{}: constant, metric, first, {}scale, sum, difference, product, "
                                "quotient, {}max or min",
                                cell ? "" : " of a derived metric", cell ? "gap, " : "", cell ? "ratio, " : ""));
  }
  in.refuseOthers();
  return std::make_shared<const Term>(std::move(term));
}

void PlanReader::readComparison(const Value& value, const JsonPath& at) {
  JsonFields in(errors_, value, at);
  Comparison comparison;
  comparison.name = in.string("name");
  comparison.text = in.string("text");
  comparison.over = in.string("over");
  comparison.unit = in.string("unit");
  comparison.factors = factorNames(in, "factors");
  if (!factors_.contains(comparison.over)) in.fail("over", quoted(comparison.over) + " is no factor of the plan");
  in.each("cells", [&](const Value& item, const JsonPath& cell_at) {
    comparison.cells.push_back(readCell(item, cell_at, comparison.factors.size()));
  });
  if (in.has("without_partner")) comparison.without_partner = in.whole("without_partner");
  if (in.has("without_partner_why")) comparison.without_partner_why = in.string("without_partner_why");
  if (metrics_.contains(comparison.name) || !comparisons_.insert(comparison.name).second)
    in.fail("name", quoted(comparison.name) + " is taken by another comparison or metric");
  in.refuseOthers();
  plan_.comparisons.push_back(std::move(comparison));
}

Bound PlanReader::readBound(const Value& value, const JsonPath& at) { return plan::readBound(errors_, value, at); }

Claim PlanReader::readClaim(const Value& value, const JsonPath& at, size_t cells, unsigned depth, bool& reaches_cell) {
  Claim claim;
  if (depth > kMaxTermDepth) {
    errors_.add(at, fmt::format("quantifiers nested deeper than {}", kMaxTermDepth));
    return claim;
  }
  JsonFields in(errors_, value, at);
  claim.kind = in.word<Claim::Kind>("is", words::kClaim);
  if (claim.kind == Claim::Kind::Cell) {
    claim.cell = in.small("cell");
    if (claim.cell >= cells) in.fail("cell", fmt::format("cell {} of {}", claim.cell, cells));
    reaches_cell = true;
  } else {
    in.each("children", [&](const Value& item, const JsonPath& child_at) {
      claim.children.push_back(readClaim(item, child_at, cells, depth + 1, reaches_cell));
    });
  }
  in.refuseOthers();
  return claim;
}

void PlanReader::readCriterion(const Value& value, const JsonPath& at) {
  JsonFields in(errors_, value, at);
  Criterion criterion;
  criterion.name = in.string("name");
  criterion.text = in.string("text");
  criterion.doc = in.string("doc");
  if (in.has("where")) criterion.where = in.string("where");
  criterion.factors = factorNames(in, "factors");
  in.each("cells", [&](const Value& item, const JsonPath& cell_at) {
    criterion.cells.push_back(readCell(item, cell_at, criterion.factors.size()));
    if (criterion.cells.back().points.empty()) errors_.add(cell_at, "a cell needs a point");
  });
  if (const Value* bound = in.value("bound"))
    criterion.bound = readBound(*bound, JsonPath{&at, "bound", std::nullopt});
  else
    in.fail("bound", "missing, expected an object");
  if (in.has("infeasible")) criterion.infeasible = in.boolean("infeasible");
  if (in.has("confidence")) {
    criterion.confidence = in.number("confidence");
    if (*criterion.confidence <= 0 || *criterion.confidence >= 1) in.fail("confidence", "is not between 0 and 1");
  }
  criterion.unit = in.string("unit");
  criterion.domain = in.string("domain");
  criterion.not_asked = in.boolean("not_asked");
  bool reaches_cell = false;
  if (const Value* claim = in.value("claim"))
    criterion.claim = readClaim(*claim, JsonPath{&at, "claim", std::nullopt}, criterion.cells.size(), 0, reaches_cell);
  else
    in.fail("claim", "missing, expected an object");
  // Such a criterion would pass whatever is measured.
  if (!reaches_cell && !criterion.not_asked) in.fail("claim", "claims nothing: no cell is reached");
  if (!criteria_.insert(criterion.name).second)
    in.fail("name", quoted(criterion.name) + " is a second criterion of that name");
  in.refuseOthers();
  plan_.criteria.push_back(std::move(criterion));
}

}  // namespace expc::plan
