// Plans and reports of larger studies, in text, JSON and the page: inactive factors, derived metrics, references,
// controls, adaptive repetition, points that are expected infeasible; in text, JSON and the page.

#include <doctest/doctest.h>

#include "runtime/base/json.h"
#include "runtime/describe/description.h"
#include "runtime/judge/judge.h"
#include "runtime/judge/readings.h"
#include "runtime/judge/results.h"
#include "runtime/report/html.h"
#include "runtime/report/records_json.h"
#include "runtime/report/texts.h"
#include "runtime/report/wording.h"
#include "tests/support/report/example_results.h"

namespace expc::report {
namespace {

void mentions(const std::string& text, const std::string& part) {
  CAPTURE(text);
  CAPTURE(part);
  CHECK(text.find(part) != std::string::npos);
}

plan::TermPtr term(auto node) { return std::make_shared<const plan::Term>(plan::Term{std::move(node)}); }

/// The example with two workloads, an inactive factor, a lockstep factor's name, a control, a reference, adaptive
/// repetition, a derived metric, a claim of infeasibility and agreement with the reference.
plan::Plan largerPlan() {
  plan::Plan plan = plan::examplePlan();
  plan.factors[1].name = "(gpus, nodes)";
  for (plan::Comparison& comparison : plan.comparisons) comparison.factors = {"precision", "(gpus, nodes)"};
  for (plan::Criterion& criterion : plan.criteria)
    for (std::string& factor : criterion.factors)
      if (factor == "gpus") factor = "(gpus, nodes)";
  plan.tables = {{"step_time", {"precision", "(gpus, nodes)"}}, {"overhead", {"precision", "(gpus, nodes)"}}};
  plan.plots.clear();
  plan.workloads[0].label = "ours";
  plan.workloads.push_back({"theirs", "train", 1, plan::Command{{"python3", "train.py"}, {}, {}, {}}});
  plan.points[1].workload = 1;
  plan.points[1].levels[1] = plan::kInactive;
  plan.points[4].expected_infeasible = "needs 120 GiB, a card has 94 GB";
  plan.metrics.push_back({"overhead", "time", "s", plan::Direction::Lower, plan::TrialKind::Timed, false, false,
                          term(plan::OperationTerm{plan::OperationTerm::Op::Product,
                                                   {term(plan::ConstantTerm{0.5}), plan::metricTerm("step_time", "")}}),
                          "0.5 * step_time"});
  plan.controls = {{"twice", plan.points[0].id}};
  plan.references = {
      {"table2", "table2.csv", {{plan.points[0].id, "step_time", 0.0400}, {plan.points[2].id, "step_time", 0.0200}}}};
  plan.design.kinds[0].repeat_most = 20;
  plan.design.kinds[0].timeout_seconds = 4 * 3600;
  plan.design.kinds[0].until = {{"gain", 0.01, true}};
  plan.criteria[0].cells[0].bound = plan::Bound{plan::Relation::Within, 1.8, 2.2, "within 10 % of 2.00x"};
  plan::Criterion oom;
  oom.name = "oom";
  oom.text = "forall where precision == bf16: infeasible";
  oom.infeasible = true;
  oom.cells = {{{}, term(plan::ConstantTerm{0}), plan::Estimator::Median, plan::TrialKind::Timed, {plan.points[4].id}}};
  oom.claim.children = {{plan::Claim::Kind::Cell, {}, 0}};
  plan.criteria.push_back(std::move(oom));
  return plan;
}

/// Seven blocks of every point that can run; the control takes 1.2 times as long as its point.
store::Results largerResults(const plan::Plan& plan) {
  store::Results results;
  results.sessions.emplace_back();
  results.sessions.back().id = 1;
  results.sessions.back().where.nodes = {"node1"};
  const auto add = [&](const plan::Point& point, int64_t block, double step, std::string label) {
    store::Trial trial;
    trial.id = int64_t(results.trials.size()) + 1;
    trial.key = exampleKey({point.id, std::move(label)});
    trial.block = block;
    trial.session = 1;
    trial.status = store::TrialStatus::Valid;
    trial.metrics = {{"step_time", step * (1 + 0.0015 * double(trial.id % 7))}, {"host_memory_peak", 1 << 20}};
    results.trials.push_back(std::move(trial));
  };
  for (int64_t block = 1; block <= 7; ++block) {
    for (size_t i = 0; i < 4; ++i) add(plan.points[i], block, i < 2 ? 0.04 : 0.02, "");
    add(plan.points[0], block, 0.048, "twice");
  }
  return results;
}

}  // namespace

TEST_CASE("a plan with what larger studies have comes back from JSON") {
  const json::Value json = plan::toJson(largerPlan());
  const plan::Plan back = cantFail(plan::planFromJson(json));
  CHECK(base::canonicalJson(plan::toJson(back)) == base::canonicalJson(json));
}

TEST_CASE("the plan's text tells workloads, inactive factors, controls, repetitions and what is not started") {
  PlanExtras extras;
  extras.width = 140;
  extras.all_points = true;
  const std::string text = planText(largerPlan(), extras);
  mentions(text, "Program   ours = image.mobilenet_v2 version 1; theirs = train, the command python3 train.py");
  mentions(text, "(gpus, nodes)");
  mentions(text, "timeout 4 h");
  mentions(text, "fp64       –");
  mentions(
      text,
      "1 point estimated not to fit in memory, run because a criterion claims it: needs 120 GiB, a card has 94 GB");
  mentions(text, "Trials  47..125");  // 5 points and a control in 7 to 20 timed blocks, 5 in one of quality
  mentions(text, "7..20");
  mentions(text, "5 + 1 control");
  mentions(text, "stop when half_width(gain) <= 1.0 % everywhere");
  mentions(text, "control twice: precision=fp64 (gpus, nodes)=1 runs a second time in each block");
  mentions(text, "passes if every point runs out of memory in 2 blocks");
}

TEST_CASE("a label is explained only where it differs from what it stands for") {
  plan::Plan plan = largerPlan();
  plan.workloads[1].label = "train";
  PlanExtras extras;
  extras.width = 140;
  mentions(planText(plan, extras),
           "Program   ours = image.mobilenet_v2 version 1; train, the command python3 train.py");
}

TEST_CASE("the plan's text can be made from counts") {
  plan::Plan plan = largerPlan();
  PlanCounts counts = PlanCounts::of(plan);
  CHECK(counts.available == 5);
  CHECK(counts.expected_infeasible == 0);  // a criterion claims it for the only such point
  counts.points = counts.available = 1000000;
  counts.expected_infeasible = 3;
  counts.criterion_cells[1] = 500000;
  plan.points.clear();
  PlanExtras extras;
  extras.counts = &counts;
  const std::string text = planText(plan, extras);
  mentions(text, "1000000 of 8 combinations");
  mentions(text, "3 points estimated not to fit in memory; skipped");
  mentions(text, "500000");
}

TEST_CASE("a result shows derived metrics, published values, controls and repetitions") {
  const plan::Plan plan = largerPlan();
  const store::Results results = largerResults(plan);
  const describe::Conclusions judgement = describe::conclude(plan, results);
  ResultTextOptions options;
  options.all = true;
  options.width = 160;
  const std::string text = resultText({plan, judgement, results}, options);
  mentions(text, "(published 40.0 ms)");
  mentions(text, "(published 2.00x)");
  mentions(text, "published values are of table2 (table2.csv); absolute ones are shown and not judged");
  mentions(text, "= 0.5 * step_time; median");
  mentions(text, "20.1 ms");  // half of 40.2 ms
  mentions(text, "(untrusted)");
  mentions(text, "step_time of precision=fp64 (gpus, nodes)=1 (control twice), run twice in each block");
  mentions(text, "Controls  identical runs in one block");
  mentions(text, "widest half-width of gain");
  mentions(text, "expected infeasible, not started");
  mentions(text, "was not started: its estimated memory exceeds the device's: needs 120 GiB, a card has 94 GB");

  const json::Value json = resultJson({plan, judgement, results});
  const json::Object& object = *json.getAsObject();
  CHECK(object.getArray("controls")->size() == 1);
  CHECK((*object.getArray("controls"))[0].getAsObject()->getBoolean("untrusted") == true);
  CHECK((*object.getArray("repetitions"))[0].getAsObject()->getInteger("most") == 20);
  const json::Object& first = *(*object.getArray("criteria"))[0].getAsObject();
  CHECK(first.getString("untrusted").has_value());
  CHECK((*first.getArray("cells"))[0].getAsObject()->getString("bound") == "within 10 % of 2.00x");
  CHECK((*first.getArray("cells"))[0].getAsObject()->getNumber("published") == doctest::Approx(2.0));
  const json::Object& point = *(*object.getArray("points"))[1].getAsObject();
  CHECK(point.getObject("levels")->get("(gpus, nodes)")->getAsNull().has_value());
  CHECK(point.getString("workload") == "train");

  const std::string page = htmlPage({plan, judgement, results}, {});
  mentions(page, "untrusted</span>");
  mentions(page, "Controls: identical runs in one block");
  mentions(page, "(published 40.0 ms)");
  mentions(page, "overhead = 0.5 * step_time");
  mentions(page, "expected infeasible, not started");
  mentions(page, "widest half-width of gain");
  mentions(page, "table2 (table2.csv)");
}

TEST_CASE("a published comparison needs all its parts") {
  plan::Plan plan = largerPlan();
  CHECK(judge::publishedValue(plan, *plan.comparisons[0].cells[0].term) == doctest::Approx(2.0));
  CHECK_FALSE(judge::publishedValue(plan, *plan.comparisons[0].cells[1].term));
  CHECK(judge::publishedValue(plan, plan.points[0], *plan.findMetric("overhead")) == doctest::Approx(0.02));
  CHECK_FALSE(judge::publishedValue(plan, plan.points[1], *plan.findMetric("step_time")));
  CHECK(
      referencesTexts(plan) ==
      std::vector<std::string>{"published values are of table2 (table2.csv); absolute ones are shown and not judged"});
  plan::Criterion like;  // about a metric, not about a comparison
  like.cells.resize(1);
  like.cells[0].points = {plan.points[0].id};
  like.cells[0].bound = plan::Bound{plan::Relation::Within, 0.036, 0.044, "within 0.036s..0.044s (table2: 0.04s)"};
  plan.criteria.push_back(like);
  CHECK(referencesTexts(plan) == std::vector<std::string>{"published values are of table2 (table2.csv)"});
  plan.references[0].values.clear();
  CHECK(referencesTexts(plan)[0].find("published at other settings than these points have") == 0);
}

}  // namespace expc::report
