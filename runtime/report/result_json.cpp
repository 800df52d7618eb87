// Writes the judgement as JSON. Records become trees by records_json.h; cells, criteria and points are streamed one by
// one, since a large study has hundreds of thousands of values. Names and meaning of members are documented in
// docs/report.md and must stay; members may be added.

#include <llvm/Support/raw_ostream.h>

#include "runtime/base/find.h"
#include "runtime/base/json_record.h"
#include "runtime/base/text.h"
#include "runtime/judge/judge.h"
#include "runtime/judge/readings.h"
#include "runtime/report/answer.h"
#include "runtime/report/paint.h"
#include "runtime/report/reasons.h"
#include "runtime/report/records_json.h"
#include "runtime/report/sections.h"
#include "runtime/report/verdict_text.h"

namespace expc::report {
namespace {

using json::Object;
using json::Value;

/// Writes text as it comes: as one tree of values a study of 10,000 points would take most of a gigabyte.
struct Writer {
  json::OStream json;
  bool whole;  // whether single runs and blocks, and the ids of a cell's points, are written too

  /// Writes an element that is small enough to be a tree, and the members of an object.
  void add(const Value& value) { json.rawValue(canonicalJson(value)); }
  void members(const Object& object) {
    for (const auto& [key, value] : object) json.attributeBegin(key), add(value), json.attributeEnd();
  }
};

/// Writes cells, with verdicts if they belong to a `criterion`, without for a comparison.
void cells(Writer& out, const Plan& plan, const std::vector<std::string>& factors,
           const std::vector<plan::Cell>& planned, const std::vector<CellEstimate>& estimates,
           const Criterion* criterion = nullptr) {
  for (const CellEstimate& one : estimates) {
    if (one.cell >= planned.size()) continue;
    const plan::Cell& cell = planned[one.cell];
    CellFacts facts{.steps = one.steps ? stepsText(plan, cell, *one.steps) : "",
                    .why = criterion ? whyText(plan, *criterion, one).text : inWords(plan, one.why).text};
    const std::vector<std::string> labels = plan.levelLabels(factors, cell);
    for (size_t i = 0; i < labels.size(); ++i) facts.levels[factors[i]] = labels[i];
    if (out.whole) {
      facts.values = one.values;
      facts.points = textsOf(cell.points, [](const Place& place) {
        return place.control.empty() ? place.point : place.point + "#" + place.control;
      });
    }
    if (!plan.references.empty() && cell.term) facts.published = judge::publishedValue(plan, *cell.term);
    if (cell.bound) facts.bound = cell.bound->text;
    if (const plan::Assertion* of = criterion ? plan::assertionOf(*criterion, cell) : nullptr)
      facts.assertion = of->text;
    if (criterion) facts.verdict = one.verdict, facts.confidence = one.confidence;
    JsonRecord io;
    describeCell(io, one, facts);
    out.add(std::move(io.out()));
  }
}

/// Writes the criteria with verdicts, reasons and cells.
void criteria(Writer& out, const Findings& findings) {
  for (const Judged& judged : judgedOf(findings.plan, findings.judgement)) {
    const auto& [plan, found, result] = judged;
    CriterionFacts facts{.answer = answerText(findings, judged),
                         .tested = result.scope.complete ? testedText(judged, findings.results) : "",
                         .why = whyText(judged),
                         .how_sure = surenessText(judged),
                         .notes = textsOf(verdictNotes(findings, judged), &Fact::text),
                         .marks = marksOf(result)};
    if (result.untrusted) facts.untrusted = whyText(plan, *result.untrusted);
    if (!found.expected.empty()) facts.expected = found.expected;
    if (!found.assertions.empty()) facts.held_by = heldBy(judged);
    JsonRecord io;
    describeCriterion(io, found, result, facts);
    out.json.object([&] {
      out.members(io.out());
      out.json.attributeArray("cells", [&] { cells(out, plan, found.factors, found.cells, result.cells, &found); });
    });
  }
}

/// Writes the comparisons with their cells.
void comparisons(Writer& out, const Plan& plan, const Judgement& judgement) {
  for (const judge::ComparisonResult& result : judgement.comparisons) {
    const Comparison* found = base::named(plan.comparisons, result.name);
    if (!found) continue;
    out.json.object([&] {
      out.members(base::record("name", found->name, "text", found->text, "unit", found->unit));
      out.json.attributeArray("cells", [&] { cells(out, plan, found->factors, found->cells, result.cells); });
    });
  }
}

/// Returns how trials of a point ended; a point that was not tried gives the reason of its plan.
PointStatus statusOf(const Point& point, PointStatus status) {
  // A point that was never tried has no reason of its own; the plan's is more useful than none.
  const bool tried = status.valid + status.failed + status.timeouts + status.infeasible + status.invalid > 0;
  if (!tried && !point.unavailable.empty())
    status.last_reason = point.unavailable;
  else if (!tried && !point.expected_infeasible.empty())
    status.last_reason = "expected infeasible, not started: " + point.expected_infeasible;
  return status;
}

/// Writes each point with its levels, trials and metrics.
void points(Writer& out, const Plan& plan, const Judgement& judgement) {
  for (const Point& one : plan.points) {
    PointRecord record{.point = one.id,
                       .workload = one.workload < plan.workloads.size() ? plan.workloads[one.workload].name : "",
                       .unavailable = one.unavailable,
                       .expected_infeasible = one.expected_infeasible};
    for (size_t i = 0; i < plan.factors.size(); ++i) {
      auto& level = record.levels[plan.factors[i].name];
      if (one.levels[i] != plan::kInactive) level = plan.levelLabel(one, i);
    }
    for (const Metric& metric : plan.metrics)
      if (const judge::Summary* summary = judgement.find(one.id, metric.name); summary && summary->n > 0)
        record.metrics[metric.name] = {*summary, judge::publishedValue(plan, one, metric), out.whole};
    for (const TrialKind kind : {TrialKind::Timed, TrialKind::Quality, TrialKind::Profile}) {
      const PointStatus* status = judgement.status(one.id, kind);
      if (!status) continue;
      record.trials.push_back(statusOf(one, *status));
      record.not_on_device.insert(status->not_on_device.begin(), status->not_on_device.end());
    }
    out.add(base::written(record));
  }
}

/// Returns rehearsals without everything that depends on the machine that rehearsed: counts, bytes and operations are
/// exact, times and host memory are not. One element for each point.
std::vector<Object> rehearsalJson(const Plan& plan, const rehearsal::Study& study) {
  std::vector<Object> points;
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

void writeResultJson(llvm::raw_ostream& to, const Findings& findings, const rehearsal::Study* rehearsed, bool whole) {
  const auto& [plan, judgement, results] = findings;
  HeadFacts facts{.exit_code = judge::exitCode(judgement),
                  .answer = answerOf(findings).text(),
                  .missing = missingThings(plan, judgement)};
  for (const judge::ControlResult& control : judgement.controls)
    facts.controls.push_back({control, whyText(plan, control)});
  for (describe::Attribution& one : describe::attribute(findings)) facts.attributions.emplace_back(std::move(one));
  if (rehearsed) facts.rehearsed = rehearsalJson(plan, *rehearsed);
  JsonRecord head;
  describeHead(head, plan, judgement, results, facts);

  Writer out{json::OStream(to), whole};
  out.json.object([&] {
    out.members(head.out());
    out.json.attributeArray("criteria", [&] { criteria(out, findings); });
    out.json.attributeArray("comparisons", [&] { comparisons(out, plan, judgement); });
    out.json.attributeArray("points", [&] { points(out, plan, judgement); });
  });
}

// Through text, so that both forms are the same; for callers that hold small results.
Value resultJson(const Findings& findings, const rehearsal::Study* rehearsed) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  writeResultJson(stream, findings, rehearsed, true);
  return cantFail(parseJson(text));
}

}  // namespace expc::report
