#include "runtime/plan/bound_json.h"
#include "runtime/plan/command_json.h"
#include "runtime/plan/json.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/plan_words.h"

namespace expc::plan {
namespace {

using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;

template <typename T, typename F>
Array list(const std::vector<T>& items, F write) {
  Array array;
  array.reserve(items.size());
  for (const T& item : items) array.push_back(write(item));
  return array;
}

Value write(const TermPtr& term);

Value write(const Bound& bound) { return toJson(bound); }

Object write(const MetricTerm& term) {
  // Inside a derived metric the point is the one in question.
  Object object{{"metric", jsonText(term.metric)}};
  if (!term.place.point.empty()) object["point"] = jsonText(term.place.point);
  return object;
}

struct TermWriter {
  Object operator()(const ConstantTerm& term) const { return Object{{"constant", term.value}}; }
  Object operator()(const MetricTerm& term) const { return write(term); }
  Object operator()(const OperationTerm& term) const {
    return Object{{words::name(words::kOperation, term.op),
                   list(term.operands, [](const TermPtr& operand) { return write(operand); })}};
  }
  Object operator()(const FirstTerm& term) const {
    return Object{{"first", write(term.series)}, {"bound", write(term.bound)}};
  }
  Object operator()(const GapTerm& term) const {
    return Object{{"gap", Array{write(term.treated), write(term.baseline)}}};
  }
  Object operator()(const ScaleTerm& term) const { return Object{{"scale", term.factor}, {"of", write(term.term)}}; }
};

Value write(const TermPtr& term) { return term ? Value(std::visit(TermWriter{}, term->node)) : Value(nullptr); }

Value write(const Factor& factor) {
  Object object{{"name", jsonText(factor.name)},
                {"levels", list(factor.levels,
                                [](const Level& level) {
                                  return Object{{"label", jsonText(level.label)}, {"value", level.value}};
                                })},
                {"declared", jsonTexts(factor.declared)}};
  if (factor.baseline) object["baseline"] = *factor.baseline;
  return object;
}

Object numbers(const std::map<std::string, double>& by_name) {
  Object object;
  for (const auto& [name, number] : by_name) object[name] = number;
  return object;
}

Object write(const Rates& rates) {
  Object object;
  if (!rates.products.empty()) object["products"] = numbers(rates.products);
  if (rates.memory) object["memory"] = *rates.memory;
  if (rates.link) object["link"] = *rates.link;
  if (rates.host_link) object["host_link"] = *rates.host_link;
  return object;
}

Value write(const Point& point) {
  Object object{
      {"id", jsonText(point.id)},
      {"levels", list(point.levels, [](unsigned level) { return level == kInactive ? Value(nullptr) : Value(level); })},
      {"parameters", Object(point.parameters)}};
  if (!point.estimates.empty()) object["estimates"] = numbers(point.estimates);
  if (point.workload) object["workload"] = point.workload;
  if (!point.expected_infeasible.empty()) object["expected_infeasible"] = jsonText(point.expected_infeasible);
  if (!point.unavailable.empty()) object["unavailable"] = jsonText(point.unavailable);
  return object;
}

Value write(const RemovedGroup& group) {
  return Object{{"rule", jsonText(group.rule)},
                {"because", jsonText(group.because)},
                {"location", jsonText(group.location)},
                {"count", group.count},
                {"examples", list(group.examples,
                                  [](const std::vector<std::string>& labels) { return Value(jsonTexts(labels)); })}};
}

Value write(const Metric& metric) {
  Object object{{"name", jsonText(metric.name)},
                {"dimension", jsonText(metric.dimension)},
                {"unit", jsonText(metric.unit)},
                {"better", metric.better ? Value(words::name(words::kDirection, *metric.better)) : Value(nullptr)},
                {"kind", words::name(words::kKind, metric.kind)},
                {"exact", metric.exact},
                {"series", metric.series}};
  if (metric.derived) {
    object["derived"] = write(metric.derived);
    object["text"] = jsonText(metric.text);
  }
  return object;
}

Value write(const Table& table) {
  Object object{{"subject", jsonText(table.subject)}, {"by", jsonTexts(table.by)}};
  if (table.shows != Table::Shows::Values) object["shows"] = words::name(words::kShows, table.shows);
  if (!table.other.empty()) object["other"] = jsonText(table.other);
  return object;
}

Value write(const Cell& cell) {
  Object object{{"labels", jsonTexts(cell.labels)},
                {"term", write(cell.term)},
                {"estimator", words::name(words::kEstimator, cell.estimator)},
                {"kind", words::name(words::kKind, cell.kind)},
                {"points", list(cell.points, [](const Place& place) { return jsonText(place.point); })}};
  if (cell.bound) object["bound"] = write(*cell.bound);
  if (cell.ideal) object["ideal"] = *cell.ideal;
  return object;
}

Array write(const std::vector<Cell>& cells) {
  return list(cells, [](const Cell& cell) { return write(cell); });
}

Value write(const Comparison& comparison) {
  Object object{{"name", jsonText(comparison.name)},        {"text", jsonText(comparison.text)},
                {"over", jsonText(comparison.over)},        {"unit", jsonText(comparison.unit)},
                {"factors", jsonTexts(comparison.factors)}, {"cells", write(comparison.cells)}};
  if (comparison.without_partner) {
    object["without_partner"] = comparison.without_partner;
    object["without_partner_why"] = jsonText(comparison.without_partner_why);
  }
  return object;
}

Value write(const Claim& claim) {
  Object object{{"is", words::name(words::kClaim, claim.kind)}};
  if (claim.kind == Claim::Kind::Cell)
    object["cell"] = claim.cell;
  else
    object["children"] = list(claim.children, [](const Claim& child) { return write(child); });
  return object;
}

Value write(const Criterion& criterion) {
  Object object{{"name", jsonText(criterion.name)},     {"text", jsonText(criterion.text)},
                {"doc", jsonText(criterion.doc)},       {"factors", jsonTexts(criterion.factors)},
                {"cells", write(criterion.cells)},      {"bound", write(criterion.bound)},
                {"unit", jsonText(criterion.unit)},     {"claim", write(criterion.claim)},
                {"domain", jsonText(criterion.domain)}, {"not_asked", criterion.not_asked}};
  if (!criterion.where.empty()) object["where"] = jsonText(criterion.where);
  if (criterion.infeasible) object["infeasible"] = true;
  if (criterion.confidence) object["confidence"] = *criterion.confidence;
  return object;
}

Value write(const KindDesign& kind) {
  Object object{
      {"kind", words::name(words::kKind, kind.kind)}, {"repeat", kind.repeat}, {"settings", Object(kind.settings)}};
  if (!kind.looks.empty()) object["looks"] = list(kind.looks, [](unsigned look) { return Value(look); });
  if (kind.until.empty()) return object;
  object["repeat_most"] = kind.repeat_most;
  object["until"] = list(kind.until, [](const Until& until) {
    return Object{{"subject", jsonText(until.subject)}, {"half_width", until.half_width}, {"relative", until.relative}};
  });
  return object;
}

Value write(const Design& design) {
  Object object{{"kinds", list(design.kinds, [](const KindDesign& kind) { return write(kind); })},
                {"seed", design.seed}};
  if (design.budget_seconds) object["budget_seconds"] = *design.budget_seconds;
  if (design.validity != Validity{}) {
    Object limits;
    for (const auto& [name, limit] : design.validity.limits) limits[name] = limit;
    object["validity"] = Object{{"attempts", design.validity.attempts}, {"limits", std::move(limits)}};
  }
  if (design.share > 1) object["share"] = design.share;
  return object;
}

Value write(const Workload& workload) {
  Object object{{"label", jsonText(workload.label)}, {"name", jsonText(workload.name)}, {"version", workload.version}};
  if (workload.command) object["command"] = toJson(*workload.command);
  return object;
}

Value write(const Reference& reference) {
  return Object{{"name", jsonText(reference.name)},
                {"source", jsonText(reference.source)},
                {"values", list(reference.values, [](const Reference::Value& value) {
                   return Object{
                       {"point", jsonText(value.point)}, {"metric", jsonText(value.metric)}, {"value", value.value}};
                 })}};
}

}  // namespace

Value toJson(const Plan& plan) {
  Object object{{"schema", "expc.plan/" + std::to_string(plan.version)},
                {"study", jsonText(plan.study)},
                {"doc", jsonText(plan.doc)},
                {"source", jsonText(plan.source)},
                {"root", jsonText(plan.root)},
                {"presets", jsonTexts(plan.presets)},
                {"overrides", jsonTexts(plan.overrides)},
                {"workloads", list(plan.workloads, [](const Workload& workload) { return write(workload); })},
                {"system", jsonText(plan.system)},
                {"digest", jsonText(plan.digest)},
                {"factors", list(plan.factors, [](const Factor& factor) { return write(factor); })},
                {"points", list(plan.points, [](const Point& point) { return write(point); })},
                {"removed", list(plan.removed, [](const RemovedGroup& group) { return write(group); })},
                {"product", plan.product},
                {"metrics", list(plan.metrics, [](const Metric& metric) { return write(metric); })},
                {"data_paths", jsonTexts(plan.data_paths)},
                {"comparisons", list(plan.comparisons, [](const Comparison& comparison) { return write(comparison); })},
                {"criteria", list(plan.criteria, [](const Criterion& criterion) { return write(criterion); })},
                {"controls", list(plan.controls,
                                  [](const Control& control) {
                                    return Object{{"name", jsonText(control.name)}, {"point", jsonText(control.point)}};
                                  })},
                {"references", list(plan.references, [](const Reference& reference) { return write(reference); })},
                {"design", write(plan.design)},
                {"tables", list(plan.tables, [](const Table& table) { return write(table); })},
                {"plots", list(plan.plots, [](const Plot& plot) {
                   return Object{
                       {"subject", jsonText(plot.subject)}, {"over", jsonText(plot.over)}, {"by", jsonTexts(plot.by)}};
                 })}};
  if (Object rates = write(plan.rates); !rates.empty()) object["rates"] = std::move(rates);
  return object;
}

}  // namespace expc::plan
