// Checks whole sentences for every condition together with every outcome.

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "runtime/base/json.h"
#include "runtime/describe/description.h"
#include "runtime/judge/judge.h"
#include "runtime/report/html.h"
#include "runtime/report/records_json.h"
#include "runtime/report/sections.h"
#include "runtime/report/texts.h"
#include "runtime/report/verdict_text.h"
#include "tests/support/judge/study.h"
#include "tests/support/report/example_results.h"

namespace expc::report {
namespace {

using judge::Condition;
using judge::Verdict;

struct Conditions {
  std::vector<Condition> conditions;
  const char* pairs;   // added to the error rate of a claim about pairs
  const char* trials;  // and of a claim about single points
};
const std::vector<Conditions> kConditions = {
    {{}, "", ""},
    {{{Condition::Independent}}, ", if pairs are independent", ", if trials are independent"},
    {{{Condition::Independent, 0.5}},
     ", if pairs are independent (their correlation may be 0.50)",
     ", if trials are independent (their correlation may be 0.50)"},
    {{{Condition::Correlated, 0.736}},
     ", if consecutive pairs are correlated by no more than the 0.74 that the intervals allow for",
     ", if consecutive trials are correlated by no more than the 0.74 that the intervals allow for"},
    {{{Condition::LostAlike, 1}}, ", if the lost trial is like the others", ", if the lost trial is like the others"},
    {{{Condition::LostAlike, 3}},
     ", if the 3 lost trials are like the others",
     ", if the 3 lost trials are like the others"},
    {{{Condition::OneSession}},
     ", if restarting the machine changes nothing",
     ", if restarting the machine changes nothing"},
    {{{Condition::TwoSessions}},
     ", if sessions do not differ in this effect (two cannot show it)",
     ", if sessions do not differ in this value (two cannot show it)"},
    {{{Condition::SingleArm}}, ", if trials do not drift", ", if trials do not drift"},
    {{{Condition::Independent}, {Condition::OneSession}},
     ", if pairs are independent and restarting the machine changes nothing",
     ", if trials are independent and restarting the machine changes nothing"},
    {{{Condition::Independent}, {Condition::LostAlike, 2}, {Condition::TwoSessions}},
     ", if pairs are independent, the 2 lost trials are like the others and sessions do not differ in this effect (two "
     "cannot show it)",
     ", if trials are independent, the 2 lost trials are like the others and sessions do not differ in this value (two "
     "cannot show it)"}};

struct Printed {
  Verdict verdict;
  bool constant, look, provisional;
  const char* before;  // the conditions
  const char* after;
  bool conditional;  // whether conditions are part of it
};
const Printed kOutcomes[] = {
    {Verdict::Pass, false, false, false, "at 95 % confidence, the false pass rate is at most 2.5 %", "", true},
    {Verdict::Fail, false, false, false, "at 95 % confidence, the false fail rate is at most 2.5 %", "", true},
    {Verdict::Inconclusive, false, false, false, "the 95 % interval includes the bound", "", false},
    {Verdict::Pass, false, true, false, "this look's intervals, of 97.9 % so that all looks keep 95 % confidence",
     ", decide it", true},
    {Verdict::Inconclusive, false, true, false,
     "this look's intervals, of 97.9 % so that all looks keep 95 % confidence", ", do not decide it", true},
    // Exact values neither pass nor fail by chance, and a verdict that does not stand has no error rate.
    {Verdict::Pass, true, false, false, "exact values, equal in every block although each block has another seed", "",
     false},
    {Verdict::Fail, true, false, false, "exact values, equal in every block although each block has another seed", "",
     false},
    {Verdict::Pass, false, false, true, "provisional: not all planned trials are measured", "", false},
    {Verdict::NotRun, false, false, false, "", "", false},
    {Verdict::Broken, false, false, false, "", "", false},
    {Verdict::NotAsked, false, false, false, "", "", false}};

TEST_CASE("an error rate is printed with the conditions that are not met or were not checked, and nothing else is") {
  const plan::Plan plan;
  for (const size_t points : {1, 2})
    for (const Printed& outcome : kOutcomes)
      for (const Conditions& one : kConditions) {
        plan::Criterion claim;
        claim.confidence = 0.95;
        claim.cells.resize(1);
        claim.cells[0].points.assign(points, plan::Place("point"));
        judge::CriterionResult result;
        result.verdict = outcome.verdict;
        result.provisional = outcome.provisional;
        result.conditions = one.conditions;
        if (outcome.look) result.look = judge::Look{{8}, 14, 20, 0.979};
        result.cells = {exampleCell(0, 1.5, outcome.verdict)};
        result.cells[0].constant = outcome.constant;
        const char* conditions = !outcome.conditional ? "" : points == 1 ? one.trials : one.pairs;
        CHECK(worthText({plan, claim, result}) == std::string(outcome.before) + conditions + outcome.after);
      }
}

TEST_CASE("how many sessions there are is said once of a study, where they are few") {
  Example example = exampleResults();
  const auto notice = [&](unsigned sessions, std::vector<Condition> conditions = {{Condition::Independent}}) {
    for (judge::CriterionResult& result : example.judgement.criteria) {
      result.scope.sessions = sessions;
      result.conditions = conditions;
    }
    return sessionsNotice(example.plan, example.judgement);
  };
  CHECK(notice(0).empty());
  CHECK(notice(1) == "All data come from one session; restarting the machine may change the result.");
  CHECK(notice(2) ==
        "All data come from two sessions, which hardly show how much sessions differ; a third may change the result.");
  CHECK(notice(3).empty());
  // Exact values and claims without a confidence have no error rate that it could change.
  CHECK(notice(1, {}).empty());
  notice(1);
  for (plan::Criterion& criterion : example.plan.criteria) criterion.confidence.reset();
  CHECK(sessionsNotice(example.plan, example.judgement).empty());
}

TEST_CASE("intervals that reach beyond their values are explained once, however many they are") {
  Example example = exampleResults();
  const describe::Findings findings{example.plan, example.judgement, example.results};
  CHECK(widenedNotice(example.plan, example.judgement, {"step_time"}).empty());
  size_t widened = 0;
  for (judge::Summary& summary : example.judgement.summaries) {
    if (summary.metric != "step_time" || !summary.interval || ++widened > 2) continue;
    summary.interval = stats::Interval{0, 10 * summary.maximum, 0.95};
    summary.correlation = 0.9, summary.worth = 1.04;
  }
  const std::string notice = widenedNotice(example.plan, example.judgement, {"step_time"});
  CHECK(notice == "Wide intervals: values may be correlated (each like the one before), so 7 of step_time at " +
                      example.plan.label(example.plan.points[0]) +
                      " (and 1 more cell) are worth about 1.0 independent ones. More blocks or a quieter machine "
                      "narrow them.");
  CHECK(widenedNotice(example.plan, example.judgement, {"accuracy"}).empty());
  ResultTextOptions wide, brief;
  wide.width = brief.width = 400;
  brief.brief = true;
  for (const std::string& text : {resultText(findings, wide), resultText(findings, brief), htmlPage(findings, {})}) {
    const size_t first = text.find(notice);
    REQUIRE(first != std::string::npos);
    CHECK(text.find(notice, first + 1) == std::string::npos);
  }
}

TEST_CASE("every medium says it once, and programs read the conditions by their codes") {
  Example example = exampleResults();
  for (judge::CriterionResult& result : example.judgement.criteria) {
    result.scope.sessions = 1;
    result.conditions = {{Condition::Independent}, {Condition::OneSession}};
  }
  const describe::Findings findings{example.plan, example.judgement, example.results};
  const std::string notice = sessionsNotice(example.plan, example.judgement);
  ResultTextOptions all;
  all.all = true;
  for (const std::string& text : {resultText(findings, {}), resultText(findings, all), htmlPage(findings, {})}) {
    const size_t first = text.find(notice);
    REQUIRE(first != std::string::npos);
    CHECK(text.find(notice, first + 1) == std::string::npos);
  }
  const std::string json = base::canonicalJson(resultJson(findings));
  CHECK(json.find(R"("conditions":[{"code":"independent","number":0},{"code":"one session","number":0}])") !=
        std::string::npos);
}

TEST_CASE("the interval that decides stands in tables, lines and JSON with its confidence") {
  namespace study = judge::test;
  study::Records records;
  records.pairs(9, 1.5);
  plan::Plan plan = study::study(9);
  plan.criteria.push_back(study::criterion(study::gainCells(), study::atLeast(2, "2x"), "x", 0.95));
  const describe::Conclusions judgement = describe::conclude(plan, records.results);
  const judge::CriterionResult& result = judgement.criteria.back();
  // Two cells fail: the surest at 97.5 %, the other at 95 %.
  const bool first = result.cells[0].uncorrected.has_value();
  const judge::CellEstimate& surest = result.cells[first ? 0 : 1];
  REQUIRE(surest.uncorrected);
  CHECK_FALSE(result.cells[first ? 1 : 0].uncorrected);
  const Judged judged{plan, plan.criteria.back(), result};
  const std::string line = cellLine(plan, plan.criteria.back(), surest);
  CHECK(line.find("] (97.5 % interval), n=9") != std::string::npos);
  CHECK(whyText(plan, plan.criteria.back(), surest).text == "below 2x");
  std::string row;
  const Table table = criterionCells(judged);
  for (const Cell& cell : table.rows[first ? 0 : 1].cells) row += cell.inText(" ") + " | ";
  CHECK(row.find("] (97.5 % interval) | ") != std::string::npos);
  const std::string json = base::canonicalJson(resultJson({plan, judgement, records.results}));
  CHECK(json.find("\"confidence\":0.975") != std::string::npos);
  CHECK(json.find("\"uncorrected\":{") != std::string::npos);
}

}  // namespace
}  // namespace expc::report
