// Writes the judgement as JSON. Small records become trees by records_json.h; cells, criteria and points are streamed
// one by one, since a large study has hundreds of thousands of values. Names and meaning of members are documented in
// docs/report.md and must stay; members may be added.

#include <llvm/Support/raw_ostream.h>

#include <set>

#include "runtime/base/find.h"
#include "runtime/base/json.h"
#include "runtime/judge/judge.h"
#include "runtime/judge/readings.h"
#include "runtime/report/answer.h"
#include "runtime/report/reasons.h"
#include "runtime/report/records_json.h"
#include "runtime/report/sections.h"
#include "runtime/report/verdict_text.h"

namespace expc::report {
namespace {

using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;

/// Writes text as it comes: as one tree of values a study of 10,000 points would take most of a gigabyte.
struct Writer {
  llvm::json::OStream json;
  bool whole;  // whether single runs and blocks, and the ids of a cell's points, are written too

  /// Writes an element that is small enough to be a tree, and the members of an object.
  void add(const Value& value) { json.rawValue(base::canonicalJson(value)); }
  void members(const Object& object) {
    for (const auto& [key, value] : object) json.attributeBegin(key), add(value), json.attributeEnd();
  }
};

/// Writes cells, with verdicts if they belong to a `criterion`, without for a comparison.
void cells(Writer& out, const plan::Plan& plan, const std::vector<std::string>& factors,
           const std::vector<plan::Cell>& planned, const std::vector<judge::CellEstimate>& estimates,
           const plan::Criterion* criterion = nullptr) {
  for (const judge::CellEstimate& one : estimates) {
    if (one.cell >= planned.size()) continue;
    const plan::Cell& cell = planned[one.cell];
    Object levels;
    const std::vector<std::string> labels = plan.levelLabels(factors, cell);
    for (size_t i = 0; i < labels.size(); ++i) levels[factors[i]] = json(labels[i]);
    const std::string steps = one.steps ? stepsText(plan, cell, *one.steps) : "";
    const std::string why = criterion ? whyText(plan, *criterion, one).text : inWords(plan, one.why).text;
    Object object = EXPC_FIELDS(levels, one.estimate, one.interval, one.scope, one.constant, one.diverged,
                                one.correlation, steps, one.spreads);
    if (out.whole) {
      // A point is "POINT", or "POINT#NAME" for a control.
      Array points;
      for (const plan::Place& place : cell.points)
        points.push_back(json(place.control.empty() ? place.point : place.point + "#" + place.control));
      object["points"] = std::move(points);
      object["values"] = json(one.values);
    }
    if (!plan.references.empty() && cell.term) object["published"] = json(judge::publishedValue(plan, *cell.term));
    if (cell.bound) object["bound"] = json(cell.bound->text);
    if (criterion) object["verdict"] = json(one.verdict), object["confidence"] = json(one.confidence);
    if (one.uncorrected) object["uncorrected"] = json(*one.uncorrected);
    if (!why.empty()) object["why"] = json(why);
    out.add(std::move(object));
  }
}

/// Writes the criteria with verdicts, reasons and cells.
void criteria(Writer& out, const describe::Findings& findings) {
  for (const Judged& judged : judgedOf(findings.plan, findings.judgement)) {
    const auto& [plan, found, result] = judged;
    const std::string tested = result.scope.complete ? testedText(judged, findings.results) : "";
    const std::vector<std::string> notes = textsOf(verdictNotes(findings, judged), &Fact::text);
    const std::string& claim = found.doc;
    const std::string how_sure = surenessText(judged), why = whyText(judged);
    const std::string answer = answerText(findings, judged);
    const std::vector<std::string> marks = marksOf(result);
    const auto untrusted = result.untrusted ? std::optional(whyText(plan, *result.untrusted)) : std::nullopt;
    out.json.object([&] {
      out.members(EXPC_FIELDS(result.name, found.text, claim, answer, tested, notes, found.where, marks, result.verdict,
                              why, how_sure, untrusted, result.provisional, result.look, result.other_looks,
                              result.next, result.conditions, found.infeasible, found.domain, found.confidence,
                              found.unit, result.scope));
      out.json.attributeArray("cells", [&] { cells(out, plan, found.factors, found.cells, result.cells, &found); });
    });
  }
}

/// Writes the comparisons with their cells.
void comparisons(Writer& out, const plan::Plan& plan, const judge::Judgement& judgement) {
  for (const judge::ComparisonResult& result : judgement.comparisons) {
    const plan::Comparison* found = base::named(plan.comparisons, result.name);
    if (!found) continue;
    out.json.object([&] {
      out.members(EXPC_FIELDS(found->name, found->text, found->unit));
      out.json.attributeArray("cells", [&] { cells(out, plan, found->factors, found->cells, result.cells); });
    });
  }
}

/// Returns a metric's summary at a point.
Object measuredJson(const Writer& out, const plan::Plan& plan, const plan::Point& point, const plan::Metric& metric,
                    const judge::Summary& one) {
  const auto published = judge::publishedValue(plan, point, metric);
  Object object = EXPC_FIELDS(one.n, one.timeouts, one.never, one.diverged, published, one.median, one.minimum,
                              one.maximum, one.interval, one.constant, one.spreads);
  if (out.whole) object["values"] = json(one.values);
  return object;
}

/// Returns how trials of a point ended; a point that was not tried gives the reason of its plan.
Value statusJson(const plan::Point& point, judge::PointStatus status) {
  // A point that was never tried has no reason of its own; the plan's is more useful than none.
  const bool tried = status.valid + status.failed + status.timeouts + status.infeasible + status.invalid > 0;
  if (!tried && !point.unavailable.empty())
    status.last_reason = point.unavailable;
  else if (!tried && !point.expected_infeasible.empty())
    status.last_reason = "expected infeasible, not started: " + point.expected_infeasible;
  return json(status);
}

/// Writes each point with its levels, trials and metrics. A factor that is not active has the level null.
void points(Writer& out, const plan::Plan& plan, const judge::Judgement& judgement) {
  for (const plan::Point& one : plan.points) {
    Object levels, metrics;
    for (size_t i = 0; i < plan.factors.size(); ++i)
      levels[plan.factors[i].name] = one.levels[i] == plan::kInactive ? Value(nullptr) : json(plan.levelLabel(one, i));
    for (const plan::Metric& metric : plan.metrics)
      if (const judge::Summary* summary = judgement.find(one.id, metric.name); summary && summary->n > 0)
        metrics[metric.name] = measuredJson(out, plan, one, metric, *summary);
    Array trials;
    std::set<std::string> not_on_device;
    for (const plan::TrialKind kind : {plan::TrialKind::Timed, plan::TrialKind::Quality, plan::TrialKind::Profile}) {
      const judge::PointStatus* status = judgement.status(one.id, kind);
      if (!status) continue;
      trials.push_back(statusJson(one, *status));
      not_on_device.insert(status->not_on_device.begin(), status->not_on_device.end());
    }
    const std::string& point = one.id;
    const std::string workload = one.workload < plan.workloads.size() ? plan.workloads[one.workload].name : "";
    out.add(
        EXPC_FIELDS(point, levels, workload, one.unavailable, one.expected_infeasible, trials, metrics, not_on_device));
  }
}

/// Returns rehearsals without everything that depends on the machine that rehearsed: counts, bytes and operations are
/// exact, times and host memory are not. One element for each point.
Array rehearsalJson(const plan::Plan& plan, const rehearsal::Study& study) {
  Array points;
  // Starts from the stored form of rehearsals, so that members added there appear here, too.
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

void writeResultJson(llvm::raw_ostream& to, const describe::Findings& findings, const rehearsal::Study* rehearsed,
                     bool whole) {
  const auto& [plan, judgement, results] = findings;
  const char* schema = "expc.report/1";
  const int exit_code = judge::exitCode(judgement);
  const std::string answer = answerOf(findings).text();
  const std::vector<judge::UntilState>& repetitions = judgement.untils;
  const describe::Description& description = judgement.description;
  const std::vector<describe::Attribution> attributions = describe::attribute(findings);
  const std::vector<MissingThing> missing = missingThings(plan, judgement);
  // A control's reason is a sentence, so it is added here and not in records_json.h, which makes no sentences of
  // judgements.
  Array controls;
  for (const judge::ControlResult& control : judgement.controls) {
    controls.push_back(json(control));
    (*controls.back().getAsObject())["why"] = json(whyText(plan, control));
  }
  Object object =
      EXPC_FIELDS(schema, plan.study, plan.source, plan.presets, plan.overrides, plan.digest, exit_code, answer,
                  judgement.unfinished, missing, judgement.null_cards, controls, repetitions, description, attributions,
                  plan.metrics, results.sessions, results.kept_not_counted, results.not_counted_reasons);
  Array seen = rehearsed ? rehearsalJson(plan, *rehearsed) : Array();
  if (!seen.empty()) object["rehearsed"] = std::move(seen);

  Writer out{llvm::json::OStream(to), whole};
  out.json.object([&] {
    out.members(object);
    out.json.attributeArray("criteria", [&] { criteria(out, findings); });
    out.json.attributeArray("comparisons", [&] { comparisons(out, plan, judgement); });
    out.json.attributeArray("points", [&] { points(out, plan, judgement); });
  });
}

// Through text, so that both forms are the same; for callers that hold small results.
Value resultJson(const describe::Findings& findings, const rehearsal::Study* rehearsed) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  writeResultJson(stream, findings, rehearsed, true);
  return llvm::cantFail(base::parseJson(text));
}

}  // namespace expc::report
