// Tests comparisons of comparisons, references, controls, studies of two workloads, and claims that a design
// can never decide.

#include <doctest/doctest.h>

#include "compiler/lower/lower.h"
#include "runtime/base/json.h"
#include "tests/lowered.h"
#include "tests/study_fixture.h"

using namespace expc;

namespace {

using Slugs = std::vector<std::string>;

plan::Plan planWith(const std::string& text, std::map<std::string, std::string> files = {},
                    const expand::Selection& selection = {}) {
  check::Fixture fixture(text, std::move(files));
  auto plan = lower::compile(fixture.program, selection, nullptr, fixture.emitter);
  REQUIRE_MESSAGE(plan.has_value(), fixture.text());
  // The strict reader accepts every plan, so every index and name in it is valid.
  auto read = plan::planFromJson(plan::toJson(*plan));
  REQUIRE_MESSAGE(bool(read), llvm::toString(read.takeError()));
  return *plan;
}

Slugs slugsWith(const std::string& text, std::map<std::string, std::string> files = {}) {
  check::Fixture fixture(text, std::move(files));
  CHECK_MESSAGE(fixture.emitter.errors() == 0, fixture.text());
  points::verify(fixture.program, {}, fixture.emitter);
  return fixture.slugs();
}

/// The levels of a point by its id: "gpus=2 method=lora".
std::string labelOf(const plan::Plan& plan, const std::string& id) { return plan.label(*plan.findPoint(id)); }

const std::string kMeasureBoth = " measure step_time, accuracy ";

}  // namespace

TEST_CASE("an aggregate has one cell for each combination of the other levels, and its parts as terms") {
  plan::Plan plan = planWith(check::jobStudy(
      "factor gpus in { 1, 2, 4 } baseline 1 factor batch in { 16, 32, 64 } baseline 16 "
      "compare gain = speedup(step_time) over gpus compare overall = geomean(gain) over batch where batch > 16 "
      "metric total = sum(step_time) over batch compare faster = speedup(total) over gpus "
      "compare all = max(gain) over * compare growth = ratio(total) over gpus against 2 "
      "criterion pays: forall gpus: overall >= 1x with confidence 90% criterion most: all >= 1x with confidence 90%" +
      kMeasureBoth));
  const auto named = [&](const char* name) {
    return std::ranges::find(plan.comparisons, name, &plan::Comparison::name);
  };
  const plan::Comparison& overall = *named("overall");
  CHECK(overall.factors == std::vector<std::string>{"gpus"});
  REQUIRE(overall.cells.size() == 2);
  const plan::Cell& cell = overall.cells[0];
  CHECK(plan.levelLabels(overall.factors, cell) == std::vector<std::string>{"2"});
  std::vector<std::string> read;
  for (const plan::Place& place : cell.points) read.push_back(labelOf(plan, place.point));
  CHECK(read == std::vector<std::string>{"gpus=2 batch=32", "gpus=2 batch=64", "gpus=1 batch=32", "gpus=1 batch=64"});
  CHECK(cell.treated == 2);
  CHECK((cell.estimator == plan::Estimator::PairedRatio));
  CHECK(std::get<plan::AggregateTerm>(cell.term->node).parts.size() == 2);
  CHECK((named("total")->cells[0].estimator == plan::Estimator::Median));
  CHECK(named("total")->cells.size() == 3);
  // Two sums of three are compared.
  const plan::Comparison& faster = *named("faster");
  REQUIRE(faster.cells.size() == 2);
  CHECK(faster.cells[0].points.size() == 6);
  CHECK((faster.cells[0].estimator == plan::Estimator::PairedRatio));
  CHECK(named("all")->factors.empty());
  CHECK(named("all")->cells.size() == 1);
  REQUIRE(named("growth")->cells.size() == 2);
  CHECK(plan.levelLabels(named("growth")->factors, named("growth")->cells[1]) == std::vector<std::string>{"4"});
  CHECK(plan.criteria[0].cells.size() == 2);
  CHECK(plan.criteria[1].cells.size() == 1);
}

TEST_CASE("an aggregate goes over the parts that exist, and weighs them by what their points tell") {
  plan::Plan plan =
      planWith(check::jobStudy("factor gpus in { 1, 2 } baseline 1 factor batch in { 16, 32, 64 } "
                               "exclude batch == 64 metric total = mean(step_time, weight = batch) over batch" +
                               kMeasureBoth));
  const plan::Comparison& total = plan.comparisons[0];
  CHECK(total.without_partner == 2);
  REQUIRE(total.cells.size() == 2);
  const auto& mean = std::get<plan::AggregateTerm>(total.cells[0].term->node);
  REQUIRE(mean.weights.size() == 2);
  CHECK(std::get<plan::ConstantTerm>(mean.weights[1]->node).value == 32);
}

TEST_CASE("a comparison of a comparison has cells where both inner values exist") {
  plan::Plan plan =
      planWith(check::jobStudy("factor gpus in { 1, 2, 4 } baseline 1 factor batch in { 16, 32 } baseline 16 "
                               "exclude gpus == 4 and batch == 16 compare gain = speedup(step_time) over batch "
                               "compare growth = ratio(gain) over gpus compare change = difference(gain) over gpus" +
                               kMeasureBoth));
  CHECK(plan.comparisons[0].cells.size() == 2);
  const plan::Comparison& growth = plan.comparisons[1];
  REQUIRE(growth.cells.size() == 1);
  CHECK(growth.without_partner == 1);  // at 4 GPUs the inner comparison has no baseline
  const plan::Cell& cell = growth.cells[0];
  CHECK(plan.levelLabels(growth.factors, cell) == std::vector<std::string>{"2", "32"});
  std::vector<std::string> read;
  for (const plan::Place& place : cell.points) read.push_back(labelOf(plan, place.point));
  CHECK(read == std::vector<std::string>{"gpus=2 batch=32", "gpus=2 batch=16", "gpus=1 batch=32", "gpus=1 batch=16"});
  const auto& outer = std::get<plan::OperationTerm>(cell.term->node);
  const auto& top = std::get<plan::OperationTerm>(outer.operands[0]->node);
  CHECK(labelOf(plan, std::get<plan::MetricTerm>(top.operands[0]->node).place.point) == "gpus=2 batch=16");
  CHECK((cell.estimator == plan::Estimator::PairedRatio));
  const auto& difference = std::get<plan::OperationTerm>(plan.comparisons[2].cells.at(0).term->node);
  CHECK((difference.op == plan::OperationTerm::Op::Difference));
  CHECK((plan.comparisons[2].cells[0].estimator == plan::Estimator::PairedDifference));
}

TEST_CASE("previous is the nearest level before that the study has there") {
  std::string text = check::jobStudy(
      "factor gpus in { 1, 2, 4, 8 } factor method in { none, lora } exclude gpus == 2 and method == lora "
      "compare step = speedup(step_time) over gpus against previous" +
      kMeasureBoth);
  plan::Plan plan = planWith(text);
  std::vector<std::string> pairs;
  for (const plan::Cell& cell : plan.comparisons[0].cells)
    pairs.push_back(labelOf(plan, cell.points[0].point) + " / " + labelOf(plan, cell.points[1].point));
  CHECK(pairs ==
        std::vector<std::string>{"gpus=2 method=none / gpus=1 method=none", "gpus=4 method=none / gpus=2 method=none",
                                 "gpus=4 method=lora / gpus=1 method=lora", "gpus=8 method=none / gpus=4 method=none",
                                 "gpus=8 method=lora / gpus=4 method=lora"});
  // If the selection drops the partner, the claim is left out; it is not made against another level.
  plan::Plan some = planWith(text, {}, {{}, {}, {"gpus={1,4}"}});
  CHECK(some.comparisons[0].cells.size() == 1);
  CHECK(some.comparisons[0].without_partner_why == "the selection leaves out gpus=2");
}

TEST_CASE("partners agree on what is active in both; several baselines are an error") {
  // Both ranks of lora are compared with the one point of `none`, which has no rank.
  plan::Plan plan = planWith(
      check::jobStudy("factor method in { none, lora } baseline none factor rank in { 8, 64 } "
                      "compare cost = ratio(step_time) over method compare gap = ratio(step_time) over rank against 8" +
                      kMeasureBoth));
  REQUIRE(plan.comparisons[0].cells.size() == 2);
  CHECK((plan.comparisons[0].cells[0].points[1] == plan.comparisons[0].cells[1].points[1]));
  CHECK(plan.comparisons[0].without_partner == 0);
  CHECK(plan.comparisons[1].cells.size() == 1);
  CHECK(plan.points[0].levels == std::vector<unsigned>{0, plan::kInactive});
  CHECK(
      slugsWith(check::jobStudy("factor method in { none, lora } baseline lora factor rank in { 8, 64 } "
                                "compare cost = ratio(step_time) over method criterion c: forall *: cost <= 2x always" +
                                kMeasureBoth)) == Slugs{"ambiguous-baseline"});
  // With a single level of `rank` the baseline is unique.
  CHECK(slugsWith(check::jobStudy("factor method in { none, lora } baseline lora factor rank in { 8, 64 } "
                                  "exclude (rank ?? 0) == 64 compare cost = ratio(step_time) over method" +
                                  kMeasureBoth)) == Slugs{"level-never-occurs"});
}

TEST_CASE("partners that are missing are counted for each reason") {
  check::Fixture fixture(
      check::jobStudy("factor gpus in 1..4 factor method in { none, lora } baseline none exclude a: method == none and "
                      "gpus > 2 because "
                      "\"slow\" exclude b: method == none and gpus == 1 compare gain = speedup(step_time) over method" +
                      kMeasureBoth));
  auto plan = lower::compile(fixture.program, {}, nullptr, fixture.emitter);
  REQUIRE(plan);
  CHECK(plan->comparisons[0].without_partner == 3);
  CHECK(plan->comparisons[0].without_partner_why == "2: removed by rule 'a' (slow); 1: removed by rule 'b'");
  REQUIRE(fixture.slugs() == Slugs{"some-without-partner"});
  CHECK(fixture.collector.diagnostics[0].notes[0].message == "2: removed by rule 'a' (slow)");
}

TEST_CASE("twins: two workloads are a factor") {
  std::string text =
      "workload a { param size : int in 1..64 = 8  metric t : Time lower }\n"
      "workload b { param size : int in 1..64 = 16  param extra : bool = true  metric t : Time lower }\n"
      "study s { workload ours = a(size = 4)  workload theirs = b(size = 4)  compare faster = speedup(t) over workload "
      "against theirs criterion c: faster[workload = ours] >= 1x with confidence 95% design { repeat 10 steps 1 } "
      "}";
  plan::Plan plan = planWith(text);
  CHECK(plan.workloads.size() == 2);
  CHECK(plan.workloads[1].label == "theirs");
  CHECK(plan.workloads[1].name == "b");
  REQUIRE(plan.points.size() == 2);
  CHECK(plan.points[1].workload == 1);
  CHECK(plan.points[0].parameters.get("extra") == nullptr);
  CHECK(plan.points[1].parameters.getBoolean("extra") == true);
  CHECK(plan.points[0].parameters.get("workload") == nullptr);
  REQUIRE(plan.criteria[0].cells.size() == 1);
  CHECK((plan.criteria[0].cells[0].points == std::vector<plan::Place>{plan.points[0].id, plan.points[1].id}));
  CHECK(plan.criteria[0].domain == "workload ours");
}

TEST_CASE("agreement with a reference is a band for each cell") {
  std::map<std::string, std::string> files = {{"dir/t.csv", "g,ms\n1,100\n2,60\n"}};
  auto study = [](const std::string& levels, const std::string& like) {
    return std::string(check::kJob) +
           "reference published from \"t.csv\" { gpus = column(g)  step_time = column(ms) * " +
           "1ms }\nstudy s { workload job() factor gpus in " + levels +
           " baseline 1 compare gain = speedup(step_time) over gpus criterion c: forall gpus: gain like published" +
           like + " design { timed { repeat 10 steps 5 } } }";
  };
  plan::Plan plan = planWith(study("{ 1, 2 }", " within 5%"), files);
  REQUIRE(plan.criteria[0].cells.size() == 1);
  const plan::Bound& bound = *plan.criteria[0].cells[0].bound;
  CHECK(bound.low == doctest::Approx(100.0 / 60 * 0.95));
  CHECK(bound.high == doctest::Approx(100.0 / 60 * 1.05));
  CHECK(bound.text == "within 1.583x..1.75x (published: 1.667x)");
  REQUIRE(plan.references.size() == 1);
  REQUIRE(plan.references[0].values.size() == 2);
  CHECK(plan.references[0].values[1].value == doctest::Approx(0.06));
  // Nothing is published for 4 GPUs: that cell is left out, with a warning.
  std::string more = study("{ 1, 2, 4 }", "");
  CHECK(slugsWith(more, files) == Slugs{"partly-published"});
  plan::Plan some = planWith(more, files);
  CHECK(some.criteria[0].cells.size() == 1);
  CHECK(some.criteria[0].domain == "gpus 2 of 1, 2, 4");
  CHECK(slugsWith(study("{ 1, 4 }", ""), files) == Slugs{"nothing-published"});
}

TEST_CASE("a control is a second label on one point") {
  auto study = [](const std::string& pins) {
    return check::jobStudy(
        "factor gpus in { 1, 2 } factor method in { none, lora } factor rank in { 8, 64 } "
        "exclude gpus == 2 and method == none control twice = [" +
        pins + "]" + kMeasureBoth);
  };
  plan::Plan plan = planWith(study("gpus = 1, method = lora, rank = 64"));
  REQUIRE(plan.controls.size() == 1);
  CHECK(labelOf(plan, plan.controls[0].point) == "gpus=1 method=lora rank=64");
  // Without lora `rank` does not vary, so the control need not name it.
  CHECK(labelOf(planWith(study("gpus = 1, method = none")),
                planWith(study("gpus = 1, method = none")).controls[0].point) == "gpus=1 method=none");
  CHECK(slugsWith(study("gpus = 1, method = lora")) == Slugs{"control-point"});
  CHECK(slugsWith(study("gpus = 2, method = none")) == Slugs{"control-point"});
  CHECK(planWith(study("gpus = 1, method = none"), {}, {{}, {}, {"method=lora"}}).controls.empty());
}

TEST_CASE("adaptive repetition: the most counts") {
  auto study = [](const std::string& repeat, const std::string& budget = "") {
    return std::string(check::kJob) + "study s { workload job() factor gpus in { 1, 2 } baseline 1 compare gain = " +
           "speedup(step_time) over gpus criterion c: forall gpus: gain >= 1x with confidence 95% design { timed "
           "{ " +
           "repeat " + repeat + " steps 5 } " + budget + " } }";
  };
  plan::Plan plan = planWith(study("4..8 until half_width(gain) <= 1%", "budget 2h"));
  CHECK(plan.design.kinds[0].repeat == 4);
  CHECK(plan.design.kinds[0].repeat_most == 8);
  REQUIRE(plan.design.kinds[0].until.size() == 1);
  CHECK(plan.design.kinds[0].until[0].subject == "gain");
  CHECK(plan.design.kinds[0].until[0].relative);
  CHECK(plan.design.budget_seconds == 7200);
  CHECK(slugsWith(study("3..5 until half_width(gain) <= 1%")) == Slugs{"cannot-pass", "until-never-holds"});
  CHECK(slugsWith(study("6", "budget 1s")).empty());
  CHECK(slugsWith(study("600", "budget 1s")) == Slugs{"budget-too-small"});
}

TEST_CASE("derived metrics and series cross as terms") {
  plan::Plan plan = planWith(
      "workload job { param n : int = 1  metric wall : Time lower timed  metric launch : Time lower timed\n"
      "  metric loss : float lower quality series  metric curve : Share higher quality series }\n"
      "study s { workload job() factor n in { 1, 2 } baseline 1  metric share = launch / wall lower\n"
      "  metric rest = (wall - launch) * 2  metric epochs = epochs_to(curve >= 97%) lower\n"
      "  compare gap = max_gap(loss) over n  criterion few: forall n: epochs <= 3  criterion close: forall n: gap <= "
      "0.1\n"
      "  measure share, rest design { timed { repeat 6 steps 1 } quality { repeat 6 epochs 2 } } }");
  const plan::Metric* share = plan.findMetric("share");
  REQUIRE(share);
  REQUIRE(share->derived);
  using Op = plan::OperationTerm::Op;
  CHECK((std::get<plan::OperationTerm>(share->derived->node).op == Op::Quotient));
  const auto& product = std::get<plan::OperationTerm>(plan.findMetric("rest")->derived->node);
  CHECK((product.op == Op::Product));
  CHECK((std::get<plan::OperationTerm>(product.operands[0]->node).op == Op::Difference));
  const auto& first = std::get<plan::FirstTerm>(plan.findMetric("epochs")->derived->node);
  CHECK(first.series.metric == "curve");
  CHECK(first.bound.low == 0.97);
  CHECK(std::get<plan::GapTerm>(plan.comparisons[0].cells.at(0).term->node).treated.place.point == plan.points[1].id);
  CHECK((plan.comparisons[0].cells[0].estimator == plan::Estimator::Median));
}
