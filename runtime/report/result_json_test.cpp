// Reads documents of results as a program does: what is written is read, written again, and equal.

#include <doctest/doctest.h>

#include <cmath>
#include <sstream>

#include "runtime/base/json.h"
#include "runtime/report/records_json.h"
#include "tests/support/report/example_results.h"

namespace expc::report {
namespace {

using base::JsonRecord;
using json::Object;
using json::Value;

/// A cell, criterion or comparison, read and then written.
struct CellRead {
  judge::CellEstimate one;
  CellFacts facts;
};
void describe(JsonRecord& io, CellRead& cell) { describeCell(io, cell.one, cell.facts); }
struct CriterionRead {
  plan::Criterion found;
  judge::CriterionResult result;
  CriterionFacts facts;
  std::vector<CellRead> cells;
};
void describe(JsonRecord& io, CriterionRead& criterion) {
  describeCriterion(io, criterion.found, criterion.result, criterion.facts);
  io.fields("cells", criterion.cells);
}
struct ComparisonRead {
  std::string name, text, unit;
  std::vector<CellRead> cells;
};
void describe(JsonRecord& io, ComparisonRead& one) {
  io.fields("name", one.name, "text", one.text, "unit", one.unit, "cells", one.cells);
}
struct ResultsRead {
  plan::Plan plan;
  describe::Conclusions judgement;
  store::Results results;
  HeadFacts facts;
  std::vector<CriterionRead> criteria;
  std::vector<ComparisonRead> comparisons;
  std::vector<PointRecord> points;
};
void describe(JsonRecord& io, ResultsRead& all) {
  describeHead(io, all.plan, all.judgement, all.results, all.facts);
  io.fields("criteria", all.criteria, "comparisons", all.comparisons, "points", all.points);
}

struct DiagnosisRead {
  std::string study;
  simulate::Diagnosis diagnosis;
  std::vector<EndsRecord> without_value;
};
void describe(JsonRecord& io, DiagnosisRead& one) {
  describeDiagnosis(io, one.study, one.diagnosis, one.without_value);
}

template <typename T>
void readsBack(const Value& document) {
  auto read = base::readRecord<T>(document, "the document");
  REQUIRE_MESSAGE(bool(read), toString(read.takeError()));
  CHECK(base::prettyJson(base::written(*read)) == base::prettyJson(document));
}

std::string shortForm(const describe::Findings& findings) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  writeResultJson(stream, findings, nullptr, false);
  return text;
}

}  // namespace

TEST_CASE("a document of results is read as it was written") {
  Example example = exampleResults();
  readsBack<ResultsRead>(resultJson({example.plan, example.judgement, example.results}));
  readsBack<ResultsRead>(cantFail(base::parseJson(shortForm({example.plan, example.judgement, example.results}))));
  // Values that JSON has no numbers for, and members that are rare.
  describe::Conclusions& judgement = example.judgement;
  judgement.summaries[0].median = INFINITY;
  judgement.summaries[0].spreads = stats::Spreads{.within = 0.1, .between = 0.2, .sessions = 2};
  judge::CriterionResult& result = judgement.criteria[0];
  result.cells[0].interval = stats::Interval{1.5, INFINITY, 0.95};
  result.cells[0].uncorrected = stats::Interval{1, 2, 0.99};
  result.look = judge::Look{.before = {5, 10}, .now = 15, .of = 20, .confidence = 0.98, .decided_at = 10};
  result.next = judge::NextStep{.blocks = 4, .seconds = 60, .towards = judge::Verdict::Pass, .sessions = 3};
  result.conditions = {{judge::Condition::Correlated, 0.4}, {judge::Condition::SingleArm}};
  judgement.untils = {{.until = {"gain", 0.02, true}, .widest = 0.1, .where = "gpus=1", .blocks = 5, .most = 9}};
  judgement.points[0].timeouts = 2;
  judgement.points[0].limit = 1.5;
  judgement.missing = {{"timed gpus=1", exampleWhy("it ended with 1"), judge::Verdict::Broken}};
  describe::Description& description = judgement.description;
  description.effects = {{.metric = "step_time",
                          .grid = {{"gpus", {"1", "2"}}, {"precision", {"fp32", "fp16"}}},
                          .effects = {{{"gpus"}, {{{"1"}, 1.1, stats::Interval{1, 1.2, 0.95}}, {{"2"}, 0.9}}, 0.7}}}};
  description.rankings = {{"step_time", {{"a", 1, 0.5, 7}, {"b", std::nullopt, 0.6, 2}}}};
  description.fronts = {{"step_time", "accuracy", {{"a", 1, 2}}, 3}};
  description.drifts = {{.metric = "step_time", .blocks = 9, .last = 1.1, .p = 0.001, .first = 1.3}};
  description.outliers = {{"step_time", "a", 7, 3, 1.5, 1}};
  judge::ControlResult control{.name = "again", .point = "a", .metric = "step_time", .margin = 0.1};
  judgement.controls = {control};
  result.untrusted = judge::Distrust{.control = control, .gap = 0.2, .own = true};
  readsBack<ResultsRead>(resultJson({example.plan, example.judgement, example.results}));
}

TEST_CASE("an attribution and a shift are read as they were written") {
  describe::Attribution one{.treated = "a", .baseline = "b", .comparisons = {"gain"}, .blocks = 7};
  one.treated_seconds = 2, one.baseline_seconds = 1;
  one.views = {{"step", {{.name = "compute", .treated = 1, .share = 0.5}, {.name = "copy", .beside = true}}},
               {"operator", {{.name = "conv", .treated = 1, .treated_count = 3}}}};
  one.timed = {{"gain", stats::Interval{0.9, 1.1, 0.95}, true}};
  readsBack<AttributionRecord>(base::written(AttributionRecord(one)));
  readsBack<describe::Shift>(
      base::written(describe::Shift{.subject = "gain", .before = 1, .ratio = true, .worse = true}));
}

TEST_CASE("a diagnosis is read as it was written") {
  simulate::Diagnosis diagnosis{.studies = 100, .seed = UINT64_MAX};
  diagnosis.model.metrics = {{.name = "step_time", .noise = 0.02, .origin = simulate::Origin::Stated}};
  diagnosis.model.lost = 0.1;
  simulate::CriterionDiagnosis decided{.name = "gain", .known = "stated", .least = 1.1, .most = 1.2};
  decided.chances = {0.8, 0.1, 0.1};
  decided.sweeps = {{.distance = -1, .value = 0.9, .chances = {0, 0.9, 0.1}}};
  const simulate::CriterionDiagnosis skipped{.name = "memory",
                                             .skipped = plan::because({plan::Reason::NoMatterOfNoise})};
  diagnosis.design = {.most = {{plan::TrialKind::Timed, 9}},
                      .criteria = {decided, skipped},
                      .trials = {{plan::TrialKind::Timed, 30.5}},
                      .seconds = 3};
  const plan::Plan plan = plan::examplePlan();
  diagnosis.model.ends[plan::TrialKind::Timed] = {{.infeasible = 0.5}};
  readsBack<DiagnosisRead>(diagnosisJson(plan, diagnosis));
}

}  // namespace expc::report
