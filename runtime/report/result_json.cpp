#include "runtime/report/result_json.h"

#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "runtime/analysis/attribution.h"
#include "runtime/analysis/published.h"
#include "runtime/plan/find.h"
#include "runtime/plan/json.h"
#include "runtime/report/attribution_text.h"
#include "runtime/report/description_text.h"
#include "runtime/report/layout.h"
#include "runtime/report/sections.h"
#include "runtime/report/verdict_text.h"

namespace expc::report {
namespace {

using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;

Array numbers(const std::vector<double>& values) {
  Array array;
  for (const double value : values) array.push_back(numberJson(value));
  return array;
}

Object labels(const std::vector<std::string>& factors, const std::vector<std::string>& texts) {
  Object object;
  for (size_t i = 0; i < factors.size() && i < texts.size(); ++i) object[factors[i]] = plan::jsonText(texts[i]);
  return object;
}

Object scope(const analysis::Scope& scope) {
  return Object{{"planned", scope.planned},
                {"complete", scope.complete},
                {"lost", scope.lost},
                {"sessions", scope.sessions},
                {"nodes", scope.nodes}};
}

/// "POINT", of a control "POINT#NAME".
Array placeNames(const std::vector<plan::Place>& places) {
  Array array;
  for (const plan::Place& place : places)
    array.push_back(plan::jsonText(place.control.empty() ? place.point : place.point + "#" + place.control));
  return array;
}

Value spreads(const std::optional<stats::Spreads>& spreads) {
  if (!spreads) return nullptr;
  return Object{{"within", spreads->within}, {"between", spreads->between}, {"sessions", spreads->sessions}};
}

/// Writes text as it comes: a study of 10,000 points as one tree of values would take most of a gigabyte.
class Writer {
 public:
  Writer(llvm::raw_ostream& out, bool whole) : json_(out), whole_(whole) {}

  /// One element or member that is small enough to be a tree.
  void add(const Value& value) { json_.rawValue(plan::canonicalJson(value)); }
  void members(const Object& object) {
    for (const auto& [key, value] : object) json_.attributeBegin(key), add(value), json_.attributeEnd();
  }
  /// Whether single runs and blocks, and the ids of a cell's points, are written too.
  bool whole() const { return whole_; }
  llvm::json::OStream& json() { return json_; }

 private:
  llvm::json::OStream json_;
  bool whole_;
};

void cells(Writer& out, const plan::Plan& plan, const std::vector<std::string>& factors,
           const std::vector<plan::Cell>& planned, const std::vector<analysis::CellEstimate>& estimates,
           bool verdicts) {
  for (const analysis::CellEstimate& estimate : estimates) {
    if (estimate.cell >= planned.size()) continue;
    const plan::Cell& cell = planned[estimate.cell];
    Object object{{"levels", labels(factors, cell.labels)},
                  {"estimate", numberJson(estimate.estimate)},
                  {"interval", intervalJson(estimate.interval)},
                  {"scope", scope(estimate.scope)},
                  {"constant", estimate.constant},
                  {"correlation", estimate.correlation},
                  {"steps", plan::jsonText(estimate.steps)},
                  {"spreads", spreads(estimate.spreads)}};
    if (out.whole()) {
      object["points"] = placeNames(cell.points);
      object["values"] = numbers(estimate.values);
    }
    if (!plan.references.empty() && cell.term)
      object["published"] = numberJson(analysis::publishedValue(plan, *cell.term));
    if (cell.bound) object["bound"] = plan::jsonText(cell.bound->text);
    if (verdicts) object["verdict"] = std::string(toString(estimate.verdict));
    if (!estimate.why.empty()) object["why"] = plan::jsonText(estimate.why);
    out.add(std::move(object));
  }
}

Value look(const std::optional<analysis::Look>& look) {
  if (!look) return nullptr;
  Array before;
  for (const unsigned repetitions : look->before) before.push_back(repetitions);
  return Object{{"before", std::move(before)},
                {"now", look->now},
                {"of", look->of},
                {"confidence", look->confidence},
                {"unread", look->unread}};
}

Value next(const std::optional<analysis::NextStep>& next) {
  if (!next) return nullptr;
  static constexpr const char* kReach[] = {"decides", "trusts", "intervals", "out of reach"};
  return Object{
      {"reach", kReach[static_cast<size_t>(next->reach)]},
      {"blocks", next->blocks},
      {"repetitions", next->repetitions},
      {"seconds", next->seconds ? Value(*next->seconds) : Value(nullptr)},
      {"towards", next->towards == analysis::Verdict::Inconclusive ? Value(nullptr)
                                                                   : Value(std::string(toString(next->towards)))}};
}

/// What stands behind a label of a verdict's lines.
std::vector<std::string> said(const std::vector<VerdictLine>& lines, std::string_view label) {
  std::vector<std::string> texts;
  for (const VerdictLine& line : lines)
    if (line.label == label) texts.push_back(line.text);
  return texts;
}

void criteria(Writer& out, const plan::Plan& plan, const analysis::Judgement& judgement,
              const store::Results& results) {
  for (const analysis::CriterionResult& result : judgement.criteria) {
    const plan::Criterion* found = criterionOf(plan, result);
    if (!found) continue;
    const std::vector<VerdictLine> lines = verdictLines(plan, judgement, results, *found, result);
    out.json().object([&] {
      out.members(Object{{"name", plan::jsonText(result.name)},
                         {"text", plan::jsonText(found->text)},
                         {"claim", plan::jsonText(found->doc)},
                         {"tested", plan::jsonText(joined(said(lines, "tested")))},
                         {"notes", plan::jsonTexts(said(lines, "note"))},
                         {"where", plan::jsonText(found->where)},
                         {"marks", plan::jsonTexts(marksOf(result))},
                         {"verdict", std::string(toString(result.verdict))},
                         {"why", plan::jsonText(result.why)},
                         {"how_sure", plan::jsonText(surenessText(*found, result))},
                         {"untrusted", result.untrusted.empty() ? Value(nullptr) : plan::jsonText(result.untrusted)},
                         {"provisional", result.provisional},
                         {"look", look(result.look)},
                         {"next", next(result.next)},
                         {"infeasible", found->infeasible},
                         {"domain", plan::jsonText(result.domain)},
                         {"confidence", found->confidence ? Value(*found->confidence) : Value(nullptr)},
                         {"unit", plan::jsonText(found->unit)},
                         {"scope", scope(result.scope)}});
      out.json().attributeArray("cells", [&] { cells(out, plan, found->factors, found->cells, result.cells, true); });
    });
  }
}

void comparisons(Writer& out, const plan::Plan& plan, const analysis::Judgement& judgement) {
  for (const analysis::ComparisonResult& result : judgement.comparisons) {
    const plan::Comparison* found = plan::named(plan.comparisons, result.name);
    if (!found) continue;
    out.json().object([&] {
      out.members(Object{{"name", plan::jsonText(result.name)},
                         {"text", plan::jsonText(found->text)},
                         {"unit", plan::jsonText(found->unit)}});
      out.json().attributeArray("cells", [&] { cells(out, plan, found->factors, found->cells, result.cells, false); });
    });
  }
}

std::string workloadOf(const plan::Plan& plan, const plan::Point& point) {
  return point.workload < plan.workloads.size() ? plan.workloads[point.workload].name : "";
}

Array controls(const plan::Plan& plan, const analysis::Judgement& judgement) {
  Array array;
  for (const analysis::ControlResult& control : judgement.controls)
    array.push_back(Object{{"name", plan::jsonText(control.name)},
                           {"point", plan::jsonText(control.point)},
                           {"metric", plan::jsonText(control.metric)},
                           {"by", control.ratio ? "ratio" : "difference"},
                           {"estimate", numberJson(control.estimate.estimate)},
                           {"interval", intervalJson(control.estimate.interval)},
                           {"scope", scope(control.estimate.scope)},
                           {"margin", control.margin ? Value(*control.margin) : Value(nullptr)},
                           {"untrusted", control.untrusted},
                           {"why", plan::jsonText(control.why)}});
  return array;
}

Array repetitions(const analysis::Judgement& judgement) {
  Array array;
  for (const analysis::UntilState& state : judgement.untils)
    array.push_back(Object{{"kind", std::string(toString(state.kind))},
                           {"subject", plan::jsonText(state.until.subject)},
                           {"half_width", state.until.half_width},
                           {"relative", state.until.relative},
                           {"widest", numberJson(state.widest)},
                           {"where", plan::jsonText(state.where)},
                           {"repetitions", state.blocks},
                           {"most", state.most},
                           {"met", state.met}});
  return array;
}

Object trialsOf(const analysis::PointStatus& status) {
  return Object{{"kind", std::string(toString(status.kind))},
                {"planned", status.planned},
                {"valid", status.valid},
                {"failed", status.failed},
                {"timeouts", status.timeouts},
                {"timeout_limit", status.timeouts ? Value(status.limit) : Value(nullptr)},
                {"timeouts_superseded", status.superseded},
                {"infeasible", status.infeasible},
                {"invalid", status.invalid},
                {"unstable", status.unstable()},
                {"memory_reason", plan::jsonText(status.memory_reason)},
                {"lacking", status.lacking},
                {"last_reason", plan::jsonText(status.last_reason)}};
}

void points(Writer& out, const plan::Plan& plan, const analysis::Judgement& judgement) {
  for (const plan::Point& point : plan.points) {
    Object levels, metrics;
    for (size_t i = 0; i < plan.factors.size(); ++i)
      levels[plan.factors[i].name] =
          point.levels[i] == plan::kInactive ? llvm::json::Value(nullptr) : plan::jsonText(plan.levelLabel(point, i));
    for (const plan::Metric& metric : plan.metrics) {
      const analysis::Summary* summary = judgement.find(point.id, metric.name);
      if (!summary || summary->n == 0) continue;
      Object measured{{"n", summary->n},
                      {"timeouts", summary->timeouts},
                      {"never", summary->never},
                      {"published", numberJson(analysis::publishedValue(plan, point, metric))},
                      {"median", numberJson(summary->median)},
                      {"minimum", numberJson(summary->minimum)},
                      {"maximum", numberJson(summary->maximum)},
                      {"interval", intervalJson(summary->interval)},
                      {"constant", summary->constant},
                      {"spreads", spreads(summary->spreads)}};
      if (out.whole()) measured["values"] = numbers(summary->values);
      metrics[metric.name] = std::move(measured);
    }
    Array trials;
    std::set<std::string> not_on_device;
    for (const plan::TrialKind kind : {plan::TrialKind::Timed, plan::TrialKind::Quality, plan::TrialKind::Profile}) {
      const analysis::PointStatus* status = judgement.status(point.id, kind);
      if (!status) continue;
      trials.push_back(trialsOf(*status));
      not_on_device.insert(status->not_on_device.begin(), status->not_on_device.end());
    }
    out.add(Object{{"point", plan::jsonText(point.id)},
                   {"levels", std::move(levels)},
                   {"workload", plan::jsonText(workloadOf(plan, point))},
                   {"unavailable", plan::jsonText(point.unavailable)},
                   {"expected_infeasible", plan::jsonText(point.expected_infeasible)},
                   {"trials", std::move(trials)},
                   {"metrics", std::move(metrics)},
                   {"not_on_device", plan::jsonTexts({not_on_device.begin(), not_on_device.end()})}});
  }
}

Array attributions(const plan::Plan& plan, const analysis::Judgement& judgement, const store::Results& results) {
  Array all;
  for (const analysis::Attribution& one : analysis::attribute(plan, judgement, results))
    all.push_back(attributionJson(one));
  return all;
}

Array workers(const store::Session& session) {
  Array array;
  for (const store::Worker& worker : session.workers)
    array.push_back(Object{{"build", plan::jsonText(worker.build)},
                           {"environment_class", plan::jsonText(worker.environment_class)}});
  return array;
}

/// Counts, bytes and operations of rehearsals, which are exact, and nothing else. An element for each point.
Array rehearsalJson(const plan::Plan& plan, const rehearsal::Study& study) {
  Array points;
  const Value all = rehearsal::toJson(rehearsalOf(plan, study));
  for (const Value& value : *all.getAsObject()->getArray("points")) {
    Object point = *value.getAsObject();
    point.erase("seconds");
    if (Object* rehearsed = point.getObject("rehearsed"))
      for (Value& rank : *rehearsed->getArray("ranks"))
        for (const char* of_this_machine : {"host_memory", "host_seconds"}) rank.getAsObject()->erase(of_this_machine);
    points.push_back(std::move(point));
  }
  return points;
}

}  // namespace

Value numberJson(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

Value numberJson(const std::optional<double>& value) { return value ? numberJson(*value) : Value(nullptr); }

Value intervalJson(const std::optional<stats::Interval>& interval) {
  if (!interval) return nullptr;
  return Object{
      {"low", numberJson(interval->low)}, {"high", numberJson(interval->high)}, {"confidence", interval->confidence}};
}

Array missingJson(const std::vector<analysis::Missing>& missing) {
  Array array;
  for (const analysis::Missing& one : missing)
    array.push_back(Object{{"what", plan::jsonText(one.what)},
                           {"why", plan::jsonText(one.why)},
                           {"verdict", std::string(toString(one.verdict))}});
  return array;
}

std::string resultJsonText(const plan::Plan& plan, const analysis::Judgement& judgement, const store::Results& results,
                           const rehearsal::Study* rehearsed, bool whole) {
  Array metrics, sessions;
  for (const plan::Metric& metric : plan.metrics) {
    Object object{{"name", plan::jsonText(metric.name)},
                  {"unit", plan::jsonText(metric.unit)},
                  {"dimension", plan::jsonText(metric.dimension)},
                  {"kind", std::string(toString(metric.kind))}};
    if (metric.derived) object["derived"] = plan::jsonText(metric.text);
    if (metric.series) object["series"] = true;
    metrics.push_back(std::move(object));
  }
  for (const store::Session& session : results.sessions)
    sessions.push_back(Object{{"id", session.id},
                              {"host", plan::jsonText(session.where.machine())},
                              {"nodes", plan::jsonTexts(session.where.nodes)},
                              {"lane", plan::jsonText(session.where.lane)},
                              {"workers", workers(session)},
                              {"null_cards", session.onNullCards()},
                              {"opened", session.opened.wall},
                              {"last_seen", session.last_seen.wall}});
  Object object{{"schema", "expc.report/1"},
                {"study", plan::jsonText(plan.study)},
                {"source", plan::jsonText(plan.source)},
                {"presets", plan::jsonTexts(plan.presets)},
                {"overrides", plan::jsonTexts(plan.overrides)},
                {"digest", plan::jsonText(plan.digest)},
                {"exit_code", analysis::exitCode(judgement)},
                {"unfinished", judgement.unfinished},
                {"missing", missingJson(judgement.missing)},
                {"null_cards", judgement.null_cards},
                {"controls", controls(plan, judgement)},
                {"repetitions", repetitions(judgement)},
                {"description", descriptionJson(*judgement.description)},
                {"attributions", attributions(plan, judgement, results)},
                {"metrics", std::move(metrics)},
                {"sessions", std::move(sessions)},
                {"kept_not_counted", results.kept_not_counted},
                {"not_counted_reasons", plan::jsonTexts(results.not_counted_reasons)}};
  Array seen = rehearsed ? rehearsalJson(plan, *rehearsed) : Array();
  if (!seen.empty()) object["rehearsed"] = std::move(seen);

  std::string text;
  llvm::raw_string_ostream stream(text);
  Writer out(stream, whole);
  out.json().object([&] {
    out.members(object);
    out.json().attributeArray("criteria", [&] { criteria(out, plan, judgement, results); });
    out.json().attributeArray("comparisons", [&] { comparisons(out, plan, judgement); });
    out.json().attributeArray("points", [&] { points(out, plan, judgement); });
  });
  return text;
}

Value resultJson(const plan::Plan& plan, const analysis::Judgement& judgement, const store::Results& results,
                 const rehearsal::Study* rehearsed) {
  return llvm::cantFail(plan::parseJson(resultJsonText(plan, judgement, results, rehearsed, true)));
}

}  // namespace expc::report
