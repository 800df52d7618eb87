#include "runtime/plan/plan.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>

#include "runtime/base/json.h"
#include "tests/support/plan/example_plan.h"

using namespace expc::base;
using namespace expc::plan;
using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;

namespace {

/// The message of a plan that must be refused.
std::string refusal(const Value& value) {
  auto plan = planFromJson(value);
  if (plan) return "(accepted)";
  return llvm::toString(plan.takeError());
}

/// The example plan, with the fields that only larger studies have.
Plan wholePlan() {
  Plan plan = examplePlan();
  const auto make = [](auto node) { return std::make_shared<const Term>(Term{std::move(node)}); };
  Command command{{"python3", "train.py", "--gpus", "${gpus}"},
                  7200,
                  {"train.py", "src/**"},
                  {{"step_time", CommandMetric::From::Regex, "", "step ([0-9.]+) ms", 0.001, false},
                   {"loss", CommandMetric::From::Csv, "log.csv", "loss", 1, true},
                   {"launch_time", CommandMetric::From::Json, "out.json", "/api/launch", 1e-6, false}}};
  command.metrics[0].optional = true;
  command.metrics[2].take = CommandMetric::Take::Percentile;
  command.metrics[2].take->percentile = 99.9;
  command.metrics[2].take->skip = 100;
  command.copied = {"base.db"};
  command.expectations = {{{"regex(\"ok\")", CommandMetric::From::Regex, "", "ok", 1, false}, {}},
                          {{"size(\"out\") <= 1kB", CommandMetric::From::Size, "out", "", 1, false},
                           Bound{Relation::LessEqual, 1000, 0, "<= 1kB"}}};
  command.preparation = Preparation{{"make", "-C", "${prepared}"}, 60};
  command.before = {"sync", "${gpus}"};
  command.exit_codes = {0, 3};
  plan.workloads[0].label = "ours";
  plan.workloads.push_back({"theirs", "train", 3, command});
  plan.system = "proxima";
  plan.points[1].workload = 1;
  plan.points[2].levels[1] = kInactive;
  plan.points[4].expected_infeasible = "needs 120 GiB, a GPU of proxima has 96 GB";
  plan.metrics.push_back({"loss", "", "", Direction::Lower, TrialKind::Quality, false, true});
  plan.metrics.push_back({"launch_time", "time", "s"});
  const auto here = [](const char* name) { return metricTerm(name, ""); };
  plan.metrics.push_back({"launch_share", "share", "", Direction::Lower, TrialKind::Timed, false, false,
                          make(OperationTerm{OperationTerm::Op::Quotient, {here("launch_time"), here("step_time")}}),
                          "launch_time / step_time"});
  plan.metrics.push_back({"epochs", "", "", Direction::Lower, TrialKind::Quality, false, false,
                          make(FirstTerm{{"loss", ""}, {Relation::LessEqual, 0.5, 0, "<= 0.5"}}),
                          "epochs_to(loss <= 0.5)"});
  Reduction middle(Reduction::Take::Median);
  middle.last = 5;
  plan.metrics.push_back({"middle", "", "", Direction::Lower, TrialKind::Quality, false, false,
                          make(ReduceTerm{{"loss", ""}, middle}), "median(loss, last = 5)"});
  plan.controls = {{"twice", plan.points[0].id}};
  plan.references = {{"table2", "table2.csv", {{plan.points[0].id, "step_time", 0.04}}}};
  plan.comparisons[0].cells[0].ideal = 2;
  plan.plots.push_back({"loss", "epoch", {"precision"}});
  plan.plots.push_back({"accuracy", "step_time", {}});
  plan.criteria[0].cells[0].bound = Bound{Relation::Within, 0.9, 1.1, "within 10 % of 1.0x"};
  Criterion oom;
  oom.name = "oom";
  oom.infeasible = true;
  oom.cells = {{{}, make(ConstantTerm{0}), Estimator::Median, TrialKind::Timed, {plan.points[4].id}}};
  oom.claim.children = {{Claim::Kind::Cell, {}, 0}};
  plan.criteria.push_back(oom);
  plan.design.kinds[0].repeat_most = 20;
  plan.design.kinds[0].until = {{"gain", 0.01, true}, {"step_time", 0.002, false}};
  plan.design.kinds.push_back({TrialKind::Profile, 1, 1, {}, Object{{"steps", 5}}});
  return plan;
}

Object exampleObject() { return *toJson(examplePlan()).getAsObject(); }

Object& at(Object& object, llvm::StringRef key) { return *object.getObject(key); }
Object& at(Object& object, llvm::StringRef key, size_t index) { return *(*object.getArray(key))[index].getAsObject(); }

std::string refusalAfter(const std::function<void(Object&)>& change) {
  Object object = exampleObject();
  change(object);
  return refusal(std::move(object));
}

}  // namespace

TEST_CASE("a plan comes back from its text as it was") {
  const Value first = toJson(examplePlan());
  const Plan back = llvm::cantFail(planFromJson(llvm::cantFail(parseJson(canonicalJson(first)))));
  CHECK(canonicalJson(toJson(back)) == canonicalJson(first));
  CHECK(back.design.seed == 18446744073709551557u);
  CHECK(back.criteria[0].confidence == 0.95);
  CHECK_FALSE(back.criteria[1].confidence.has_value());
  CHECK(back.factors[0].baseline == 0u);
  CHECK(back.points[5].unavailable == examplePlan().points[5].unavailable);
  const auto* ratio = std::get_if<OperationTerm>(&back.comparisons[0].cells[0].term->node);
  REQUIRE(ratio);
  CHECK((ratio->op == OperationTerm::Op::Ratio));
  CHECK(std::get<MetricTerm>(ratio->operands[0]->node).place.point == back.points[0].id);
  // From the indented form too.
  CHECK(canonicalJson(toJson(llvm::cantFail(planFromJson(llvm::cantFail(parseJson(prettyJson(first))))))) ==
        canonicalJson(first));
}

TEST_CASE("what only larger studies have comes back") {
  const Plan whole = wholePlan();
  const Value json = toJson(whole);
  const Plan back = llvm::cantFail(planFromJson(llvm::cantFail(parseJson(canonicalJson(json)))));
  CHECK(canonicalJson(toJson(back)) == canonicalJson(json));
  CHECK(back.system == "proxima");
  REQUIRE(back.workloads.size() == 2);
  CHECK_FALSE(back.workloads[0].command.has_value());
  const Command& command = *back.workloads[1].command;
  CHECK(command.arguments.back() == "${gpus}");
  CHECK(command.timeout_seconds == 7200);
  CHECK(command.inputs == std::vector<std::string>{"train.py", "src/**"});
  CHECK((command.metrics[1].from == CommandMetric::From::Csv));
  CHECK(command.metrics[1].series);
  CHECK(command.metrics[2].scale == 1e-6);
  CHECK(!command.metrics[1].take);
  CHECK((command.metrics[2].take == whole.workloads[1].command->metrics[2].take));
  CHECK(command.metrics[0].optional);
  CHECK(command.copied == std::vector<std::string>{"base.db"});
  REQUIRE(command.expectations.size() == 2);
  CHECK(!command.expectations[0].bound);
  CHECK(command.expectations[1].bound->low == 1000);
  CHECK((command.expectations[1].read.from == CommandMetric::From::Size));
  CHECK(command.preparation->arguments.back() == "${prepared}");
  CHECK(command.preparation->timeout_seconds == 60);
  CHECK(command.before == std::vector<std::string>{"sync", "${gpus}"});
  CHECK(command.exit_codes == std::vector<unsigned>{0, 3});
  CHECK(back.points[1].workload == 1);
  CHECK(back.points[2].levels[1] == kInactive);
  CHECK(back.levelLabel(back.points[2], 1) == "–");
  CHECK(back.label(back.points[2]) == "precision=fp32");
  CHECK(back.points[4].expected_infeasible == whole.points[4].expected_infeasible);
  CHECK(back.findMetric("loss")->series);
  CHECK(back.findMetric("launch_share")->text == "launch_time / step_time");
  CHECK(std::get<FirstTerm>(back.findMetric("epochs")->derived->node).bound.low == 0.5);
  CHECK(back.controls[0].point == back.points[0].id);
  CHECK(back.references[0].values[0].value == 0.04);
  CHECK(back.comparisons[0].cells[0].ideal == 2);
  CHECK_FALSE(back.comparisons[0].cells[1].ideal);
  CHECK(back.plots[back.plots.size() - 2].kind(back) == PlotKind::Series);
  CHECK(back.plots.back().kind(back) == PlotKind::Metrics);
  CHECK(back.plots[0].kind(back) == PlotKind::Factor);
  CHECK(back.criteria[0].cells[0].bound->high == 1.1);
  CHECK(back.criteria.back().infeasible);
  CHECK(back.design.kinds[0].most() == 20);
  CHECK(back.design.kinds[0].until[1].subject == "step_time");
  CHECK_FALSE(back.design.kinds[0].until[1].relative);
  CHECK(back.design.kinds[1].most() == back.design.kinds[1].repeat);
  CHECK(toString(back.design.kinds[2].kind) == "profile");
}

TEST_CASE("what only larger studies have is checked") {
  const auto refusalAfterChange = [](const std::function<void(Object&)>& change) {
    Object object = *toJson(wholePlan()).getAsObject();
    change(object);
    return refusal(std::move(object));
  };
  const auto has = [](const std::string& text, const char* part) {
    CAPTURE(text);
    CHECK(text.find(part) != std::string::npos);
  };
  has(refusalAfterChange([](Object& p) { p["workloads"] = Array{}; }), "$.workloads: a plan needs a workload");
  has(refusalAfterChange([](Object& p) { at(p, "workloads", 1)["label"] = "ours"; }),
      "$.workloads[1].label: 'ours' is a second");
  has(refusalAfterChange([](Object& p) { at(at(p, "workloads", 1), "command")["arguments"] = Array{}; }),
      "$.workloads[1].command.arguments: a command needs");
  has(refusalAfterChange([](Object& p) { at(at(at(p, "workloads", 1), "command"), "metrics", 1)["file"] = ""; }),
      "metrics[1].file: only a regex reads standard output");
  has(refusalAfterChange([](Object& p) { at(p, "points", 1)["workload"] = 2; }),
      "$.points[1].workload: workload 2 of 2");
  has(refusalAfterChange([](Object& p) { at(p, "controls", 0)["point"] = "nowhere"; }),
      "$.controls[0].point: the plan has no point 'nowhere'");
  has(refusalAfterChange([](Object& p) { at(at(p, "references", 0), "values", 0)["metric"] = "speed"; }),
      "$.references[0].values[0].metric: the plan has no metric 'speed'");
  has(refusalAfterChange([](Object& p) { at(at(p, "design"), "kinds", 0)["repeat_most"] = 3; }),
      "$.design.kinds[0].repeat_most: 3 is outside 7..");
  has(refusalAfterChange([](Object& p) { at(at(at(p, "design"), "kinds", 0), "until", 0)["subject"] = "speed"; }),
      "until[0].subject: the plan has no metric or comparison 'speed'");
  has(refusalAfterChange([](Object& p) { at(at(p, "design"), "kinds", 0)["until"] = Array{}; }),
      "repeat_most: says nothing without 'until'");
  has(refusalAfterChange(
          [](Object& p) { at(at(p, "metrics", 6), "derived")["first"] = Object{{"metric", "accuracy"}}; }),
      "$.metrics[6].derived.first.metric: 'accuracy' is not a series");
  has(refusalAfterChange([](Object& p) {
        at(p, "metrics", 5)["derived"] = Object{{"ratio", Array{Object{{"constant", 1}}, Object{{"constant", 2}}}}};
      }),
      "$.metrics[5].derived: expected a term of a derived metric");
  has(refusalAfterChange([](Object& p) { at(p, "metrics", 5)["derived"] = Object{{"metric", "epochs"}}; }),
      "$.metrics[5].derived.metric: the plan has no metric 'epochs'");
}

TEST_CASE("every kind of term comes back") {
  Plan plan = examplePlan();
  const std::string point = plan.points[0].id;
  const auto make = [](auto node) { return std::make_shared<const Term>(Term{std::move(node)}); };
  const TermPtr metric = metricTerm("step_time", point);
  plan.comparisons[0].cells[0].term = make(ScaleTerm{
      0.5, make(OperationTerm{OperationTerm::Op::Difference,
                              {make(OperationTerm{OperationTerm::Op::Quotient, {metric, make(ConstantTerm{-0.1})}}),
                               ratioTerm(metric, metric)}})});
  plan.comparisons[0].cells[1].term = make(OperationTerm{
      OperationTerm::Op::Sum, {metric, make(OperationTerm{OperationTerm::Op::Product, {metric, metric}})}});
  plan.comparisons[0].cells[1].term =
      make(OperationTerm{OperationTerm::Op::Max,
                         {plan.comparisons[0].cells[1].term, metric,
                          make(OperationTerm{OperationTerm::Op::Min, {metric, make(ConstantTerm{2}), metric}})}});
  plan.metrics[2].series = true;
  plan.comparisons[0].cells[2].kind = TrialKind::Quality;
  plan.comparisons[0].cells[2].term =
      make(OperationTerm{OperationTerm::Op::Difference,
                         {make(FirstTerm{{"accuracy", point}, {Relation::Within, 0.2, 0.3, "within 0.2..0.3"}}),
                          make(GapTerm{{"accuracy", point}, {"accuracy", plan.points[1].id}})}});
  for (const size_t cell : {0, 1}) plan.comparisons[0].cells[cell].points = {point};
  plan.comparisons[0].cells[2].points = {plan.points[1].id, point};
  const Value json = toJson(plan);
  CHECK(canonicalJson(toJson(llvm::cantFail(planFromJson(json)))) == canonicalJson(json));
}

TEST_CASE("a point is found by its id, in the order of its plan or in another") {
  Plan plan = llvm::cantFail(planFromJson(toJson(examplePlan())));
  const auto found = [&] {
    return std::ranges::all_of(plan.points, [&](const Point& point) { return plan.findPoint(point.id) == &point; });
  };
  CHECK(found());
  std::ranges::reverse(plan.points);  // the index is of another order now
  CHECK(found());
  plan.indexPoints();
  CHECK(found());
  plan.points.pop_back();
  CHECK(found());
  CHECK(plan.findPoint("nowhere") == nullptr);
}

TEST_CASE("labels name every factor") {
  const Plan plan = examplePlan();
  CHECK(plan.label(plan.points[3]) == "precision=fp32 gpus=2");
  CHECK(plan.findPoint(plan.points[3].id) == &plan.points[3]);
  CHECK(plan.findPoint("nowhere") == nullptr);
  CHECK(toString(plan.findMetric("accuracy")->kind) == "quality");
  CHECK(plan.findMetric("speed") == nullptr);
}

TEST_CASE("another version is refused before anything else") {
  CHECK(refusal(Object{{"schema", "expc.plan/4"}}) ==
        "the plan cannot be read: $.schema: this expc reads 'expc.plan/3', the plan is 'expc.plan/4'; make it again "
        "from its "
        "study with `expc plan --format json`");
  CHECK(refusal(Object{}) == "the plan cannot be read: $.schema: missing, expected a string");
  CHECK(refusal(Value(3)) == "the plan cannot be read: $: expected an object, found a number");
}

TEST_CASE("a plan of version 2 is read: its cells have the labels of their levels") {
  const auto older = [](const char* label) {
    Object plan = exampleObject();
    plan["schema"] = "expc.plan/2";
    for (const char* owner : {"comparisons", "criteria"})
      for (Value& one : *plan.getArray(owner)) {
        const Array factors = *one.getAsObject()->getArray("factors");
        for (Value& item : *one.getAsObject()->getArray("cells")) {
          Object& cell = *item.getAsObject();
          Array labels;
          for (size_t i = 0; i < factors.size(); ++i) {
            const bool gpus = factors[i].getAsString() == "gpus";
            const size_t level = *(*cell.getArray("levels"))[i].getAsUINT64();
            labels.push_back(at(at(plan, "factors", gpus), "levels", level)["label"]);
          }
          cell.erase("levels");
          cell["labels"] = std::move(labels);
        }
      }
    if (label) at(at(plan, "criteria", 0), "cells", 0)["labels"] = Array{label};
    return plan;
  };
  const Plan read = llvm::cantFail(planFromJson(older(nullptr)));
  CHECK(canonicalJson(toJson(read)) == canonicalJson(toJson(examplePlan())));
  CHECK(llvm::cantFail(planFromJson(older("–"))).criteria[0].cells[0].levels == std::vector<unsigned>{kInactive});
  CHECK(refusal(older("5")).find("$.criteria[0].cells[0].labels: '5' is not a level of 'gpus'") != std::string::npos);
}

TEST_CASE("every missing member is named") {
  const Object whole = exampleObject();
  for (const auto& member : whole) {
    const std::string key = llvm::StringRef(member.first).str();
    CAPTURE(key);
    CHECK(refusalAfter([&](Object& plan) { plan.erase(key); }).find("$." + key + ": missing") != std::string::npos);
  }
}

TEST_CASE("every member of another type is named") {
  const Object whole = exampleObject();
  for (const auto& member : whole) {
    const std::string key = llvm::StringRef(member.first).str();
    CAPTURE(key);
    CHECK(refusalAfter([&](Object& plan) { plan[key] = true; }).find("$." + key + ": expected ") != std::string::npos);
  }
}

TEST_CASE("unknown members are refused") {
  CHECK(refusalAfter([](Object& plan) { plan["colour"] = "red"; }) ==
        "the plan cannot be read: $.colour: unknown field; was this written by a newer expc?");
  CHECK(refusalAfter([](Object& plan) {
          at(at(plan, "comparisons", 0), "cells", 1)["colour"] = 1;
        }).find("$.comparisons[0].cells[1].colour: unknown field") != std::string::npos);
}

TEST_CASE("indices and references are checked") {
  const auto has = [](const std::string& text, const char* part) {
    CAPTURE(text);
    CHECK(text.find(part) != std::string::npos);
  };
  has(refusalAfter([](Object& p) { at(p, "points", 0)["levels"] = Array{3, 0}; }),
      "$.points[0].levels[0]: level 3 of 'precision', which has 3");
  has(refusalAfter([](Object& p) { at(p, "points", 0)["levels"] = Array{-1, 0}; }),
      "$.points[0].levels[0]: expected the index");
  has(refusalAfter([](Object& p) { at(p, "points", 0)["levels"] = Array{0}; }),
      "$.points[0].levels: 1 levels for 2 factors");
  has(refusalAfter([](Object& p) { at(p, "points", 0)["levels"] = Array{0, 0, 0}; }),
      "$.points[0].levels[2]: there are 2");
  has(refusalAfter([](Object& p) { at(p, "points", 0)["id"] = at(p, "points", 1)["id"]; }), "$.points[1].id:");
  has(refusalAfter([](Object& p) { p["study"] = "../../x"; }), "$.study: begins with a dot");
  has(refusalAfter([](Object& p) { p["study"] = "/tmp/x"; }), "$.study: holds a '/'");
  has(refusalAfter([](Object& p) { at(p, "workloads", 0)["name"] = "a\nb"; }), "$.workloads[0].name: holds a control");
  has(refusalAfter([](Object& p) { at(p, "workloads", 0)["label"] = "a/b"; }), "$.workloads[0].label: holds a '/'");
  has(refusalAfter([](Object& p) { at(p, "points", 0)["id"] = "ab#cd"; }), "$.points[0].id: holds a '#'");
  has(refusalAfter([](Object& p) { at(p, "factors", 1)["baseline"] = 2; }), "$.factors[1].baseline: level 2 of 2");
  has(refusalAfter([](Object& p) { at(p, "factors", 1)["name"] = "precision"; }), "$.factors[1].name:");
  has(refusalAfter([](Object& p) { at(p, "metrics", 1)["name"] = "step_time"; }), "$.metrics[1].name:");
  has(refusalAfter([](Object& p) { at(at(at(p, "criteria", 0), "claim"), "children", 1)["cell"] = 2; }),
      "$.criteria[0].claim.children[1].cell: cell 2 of 2");
  has(refusalAfter([](Object& p) { at(at(p, "criteria", 0), "claim")["children"] = Array{}; }),
      "$.criteria[0].claim: claims nothing");
  has(refusalAfter([](Object& p) { at(p, "criteria", 0)["confidence"] = 1.0; }), "$.criteria[0].confidence:");
  has(refusalAfter([](Object& p) { at(at(p, "criteria", 2), "bound")["high"] = 1; }), "$.criteria[2].bound.high:");
  has(refusalAfter([](Object& p) { at(at(p, "criteria", 2), "bound")["relation"] = "=>"; }),
      "'=>' is none of >=, >, <=");
  has(refusalAfter([](Object& p) { at(p, "criteria", 0)["factors"] = Array{"speed"}; }),
      "the plan has no factor 'speed'");
  has(refusalAfter([](Object& p) { at(at(p, "criteria", 0), "cells", 0)["levels"] = Array{}; }),
      "$.criteria[0].cells[0].levels: 0 levels for 1 factors");
  has(refusalAfter([](Object& p) { at(at(p, "criteria", 0), "cells", 0)["levels"] = Array{7}; }),
      "$.criteria[0].cells[0].levels[0]: level 7 of 'gpus', which has 2");
  has(refusalAfter([](Object& p) { at(p, "comparisons", 0)["over"] = "speed"; }), "$.comparisons[0].over:");
  for (const char* owner : {"comparisons", "criteria"}) {
    const auto refusalOfPoints = [&](const std::function<Array(const Array&)>& change) {
      return refusalAfter([&](Object& p) {
        Object& cell = at(at(p, owner, 0), "cells", 0);
        cell["points"] = change(*cell.getArray("points"));
      });
    };
    const char* const kMust = ".cells[0].points: must name once each point that the term reads";
    has(refusalOfPoints([](const Array&) { return Array{}; }), kMust);
    has(refusalOfPoints([](const Array& all) { return Array{all[0], all[1], all[0]}; }), kMust);
    has(refusalOfPoints([](const Array& all) { return Array{all[0]}; }), kMust);
    has(refusalOfPoints([](const Array& all) { return Array{all[0], all[0]}; }), kMust);
  }
  has(refusalAfter([](Object& p) { at(p, "tables", 0)["subject"] = "speed"; }), "$.tables[0].subject:");
  has(refusalAfter([](Object& p) { at(p, "plots", 0)["over"] = "speed"; }), "$.plots[0].over:");
  has(refusalAfter([](Object& p) { at(at(p, "design"), "kinds", 1)["kind"] = "timed"; }), "$.design.kinds[1].kind:");
  has(refusalAfter([](Object& p) { at(at(p, "design"), "kinds", 1)["repeat"] = 0; }), "0 is outside 1..1000000");
  has(refusalAfter([](Object& p) { at(p, "design")["seed"] = 0.5; }), "$.design.seed: expected a whole number");
  has(refusalAfter([](Object& p) { at(p, "design")["budget_seconds"] = -1; }), "$.design.budget_seconds:");
}

TEST_CASE("terms are checked") {
  const auto refusalOf = [](Value term) {
    return refusalAfter([&](Object& p) { at(at(p, "comparisons", 0), "cells", 0)["term"] = term; });
  };
  const auto has = [](const std::string& text, const char* part) {
    CAPTURE(text);
    CHECK(text.find(part) != std::string::npos);
  };
  const std::string point = examplePlan().points[0].id;
  has(refusalOf(Object{{"metric", "speed"}, {"point", point}}), "cells[0].term.metric: the plan has no metric 'speed'");
  has(refusalOf(Object{{"metric", "step_time"}, {"point", "nowhere"}}),
      "cells[0].term.point: the plan has no point 'nowhere'");
  has(refusalOf(Object{{"metric", "accuracy"}, {"point", point}}),
      "'accuracy' is measured by quality trials, the cell reads timed ones");
  has(refusalOf(Object{{"ratio", Array{Object{{"constant", 1}}}}}), "cells[0].term.ratio: expected two terms, found 1");
  const Object one{{"constant", 1}};
  has(refusalOf(Object{{"difference", Array{Object(one), Object(one), Object(one)}}}),
      "cells[0].term.difference: expected two terms, found 3");
  has(refusalOf(Object{{"max", Array{Object(one)}}}), "cells[0].term.max: expected two terms or more, found 1");
  has(refusalOf(Object{{"ratio", Array{Object{{"constant", 1}}, 7}}}), "cells[0].term.ratio[1]: expected an object");
  has(refusalOf(Object{{"scale", 2}}), "cells[0].term.of: missing");
  has(refusalOf(Object{{"mean", 2}}), "cells[0].term: expected a term");
  has(refusalOf(nullptr), "cells[0].term: expected an object, found null");
  has(refusalOf(llvm::cantFail(parseJson(R"({"constant":1e999})"))), "the number is not finite");

  Value deep = Object{{"constant", 1}};
  for (int i = 0; i < 150; ++i) deep = Object{{"scale", 1}, {"of", std::move(deep)}};
  has(refusalOf(deep), "terms nested deeper than 64");
}

TEST_CASE("deep claims are refused") {
  Value claim = Object{{"is", "cell"}, {"cell", 0}};
  for (int i = 0; i < 90; ++i) claim = Object{{"is", "forall"}, {"children", Array{std::move(claim)}}};
  CHECK(refusalAfter([&](Object& p) {
          at(p, "criteria", 0)["claim"] = claim;
        }).find("quantifiers nested deeper than 64") != std::string::npos);
}

TEST_CASE("no damaged text is accepted in silence or crashes the reader") {
  // Cut anywhere, and with a byte replaced anywhere, the reader gives an error or a plan.
  const std::string text = canonicalJson(toJson(examplePlan()));
  unsigned refused = 0;
  for (size_t length = 0; length < text.size(); length += 7) {
    auto value = parseJson(std::string_view(text).substr(0, length));
    CHECK_FALSE(bool(value));
    llvm::consumeError(value.takeError());
  }
  constexpr std::string_view kBytes = "9-\"[\xff";  // at every second position one of them, in turn
  for (size_t i = 0; i < text.size(); i += 2) {
    std::string damaged = text;
    damaged[i] = kBytes[i / 2 % kBytes.size()];
    auto value = parseJson(damaged);
    if (!value) {
      llvm::consumeError(value.takeError());
      ++refused;
      continue;
    }
    auto plan = planFromJson(*value);
    if (!plan) {
      CHECK(llvm::toString(plan.takeError()).find('$') != std::string::npos);
      ++refused;
    }
  }
  CHECK(refused > 1000);
}
