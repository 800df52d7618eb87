#include "runtime/describe/attribution.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/support/judge/study.h"

using namespace expc;
using namespace expc::describe;
using doctest::Approx;

namespace {

using Series = std::map<std::string, std::vector<double>>;

/// A study that compares fp32 with fp64, with profile trials.
plan::Plan profiled() {
  plan::Plan plan = judge::test::study();
  plan.design.kinds.push_back({plan::TrialKind::Profile, 3, 3, {}, {}});
  plan::Comparison gain;
  gain.name = "gain";
  gain.factors = {"precision", "gpus"};
  gain.cells = judge::test::gainCells();
  plan.comparisons = {gain};
  return plan;
}

store::Trial& profile(judge::test::Records& records, const std::string& point, int64_t block, Series series) {
  store::Trial& trial = records.add(point, plan::TrialKind::Profile, block, store::TrialStatus::Valid);
  trial.series = std::move(series);
  return trial;
}

Series steps(double scale, double backward) {
  return {{"profile.total", {1.0 * scale, 10}},
          {"profile.step.forward", {0.3 * scale, 10, 0}},
          {"profile.step.backward", {backward, 10, 0}},
          {"profile.beside.all_reduce", {0.2, 20, 0}},
          {"profile.operator.aten::mm", {0.25 * scale, 50, 0}},
          {"loss", {1, 2, 3}}};
}

const CategoryShare& category(const AttributionView& view, const std::string& name) {
  const auto found = std::ranges::find(view.categories, name, &CategoryShare::name);
  REQUIRE(found != view.categories.end());
  return *found;
}

}  // namespace

TEST_CASE("a difference is divided among the categories, which add up to it") {
  judge::test::Records records;
  for (int64_t block = 1; block <= 2; ++block) {
    profile(records, judge::test::id("fp64", 1), block, steps(2, 1.0));
    profile(records, judge::test::id("fp32", 1), block, steps(1, 0.6));
  }
  profile(records, judge::test::id("fp32", 1), 3, steps(9, 9));  // without a partner
  const auto all = attribute({profiled(), {}, records.results});
  REQUIRE(all.size() == 1);
  const Attribution& one = all[0];
  CHECK(one.treated == "fp32-1");
  CHECK(one.baseline == "fp64-1");
  CHECK(one.comparisons == std::vector<std::string>{"gain"});
  CHECK(one.blocks == 2);
  CHECK(one.treated_seconds == Approx(0.1));
  CHECK(one.difference() == Approx(-0.1));

  REQUIRE(one.views.size() == 2);
  const AttributionView& view = one.views[0];
  CHECK(view.name == "step");
  double sum = 0, shares = 0;
  for (const CategoryShare& part : view.categories) {
    if (part.beside) continue;
    sum += part.difference();
    shares += part.share.value();
  }
  CHECK(sum == Approx(one.difference()));
  CHECK(shares == Approx(1));
  CHECK(view.categories[0].name == "backward");  // the largest first
  CHECK(category(view, "backward").share.value() == Approx(0.4));
  CHECK(category(view, "rest").treated == Approx(0.01));
  CHECK(category(view, "rest").share.value() == Approx(0.3));
  CHECK(view.categories.back().name == "all_reduce");
  CHECK(view.categories.back().beside);
  CHECK_FALSE(view.categories.back().share);
  CHECK(category(one.views[1], "aten::mm").treated_count == 5);
}

TEST_CASE("what a criterion judges comes first, with the criterion's name") {
  plan::Plan plan = profiled();
  judge::test::Records records;
  for (const unsigned gpus : {1u, 2u}) {
    profile(records, judge::test::id("fp64", gpus), 1, steps(2, 1.0));
    profile(records, judge::test::id("fp32", gpus), 1, steps(1, 0.6));
  }
  plan.criteria.clear();
  auto all = attribute({plan, {}, records.results});
  REQUIRE(all.size() == 2);
  CHECK(all[0].treated == judge::test::id("fp32", 1));
  CHECK(all[0].criteria.empty());
  plan::Criterion large;
  large.name = "large";
  for (const plan::Cell& cell : plan.comparisons[0].cells)
    if (cell.points[0] == judge::test::id("fp32", 2)) large.cells = {cell, cell};
  REQUIRE(large.cells.size() == 2);
  plan.criteria = {large};
  all = attribute({plan, {}, records.results});
  REQUIRE(all.size() == 2);
  CHECK(all[0].treated == judge::test::id("fp32", 2));
  CHECK(all[0].criteria == std::vector<std::string>{"large"});
  CHECK(all[1].criteria.empty());
}

TEST_CASE("what counts the same time twice is said so, and equal steps have no shares") {
  judge::test::Records records;
  Series busy = steps(1, 2.5);
  profile(records, judge::test::id("fp64", 2), 1, busy);
  profile(records, judge::test::id("fp32", 2), 1, busy);
  const auto all = attribute({profiled(), {}, records.results});
  REQUIRE(all.size() == 1);
  CHECK(category(all[0].views[0], "counted twice").treated < 0);
  for (const CategoryShare& part : all[0].views[0].categories) CHECK_FALSE(part.share);
}

TEST_CASE("a category that only one level has counts as none at the other") {
  judge::test::Records records;
  Series more = steps(2, 1);
  more["profile.step.copy"] = {0.5, 10, 1000};
  profile(records, judge::test::id("fp64", 1), 1, more);
  profile(records, judge::test::id("fp32", 1), 1, steps(1, 0.5));
  const auto all = attribute({profiled(), {}, records.results});
  REQUIRE(all.size() == 1);
  CHECK(category(all[0].views[0], "copy").treated == 0);
  CHECK(category(all[0].views[0], "copy").share.value() == Approx(0.5));
}

TEST_CASE("breakdowns that make no sense are passed over") {
  judge::test::Records records;
  profile(records, judge::test::id("fp64", 1), 1, steps(1, 1));
  for (const Series& nonsense : {Series{}, Series{{"profile.total", {1}}}, Series{{"profile.total", {1, 0}}},
                                 Series{{"profile.total", {-1, 5}}}}) {
    records.results.trials.resize(1);
    profile(records, judge::test::id("fp32", 1), 1, nonsense);
    CHECK(attribute({profiled(), {}, records.results}).empty());
  }
  records.results.trials.resize(1);
  profile(records, judge::test::id("fp32", 1), 1,
          {{"profile.total", {1, 5}}, {"profile.", {1, 1}}, {"profile.step.a", {}}, {"profile.step.b", {-1, 1}}});
  const auto all = attribute({profiled(), {}, records.results});
  REQUIRE(all.size() == 1);
  CHECK(category(all[0].views[0], "forward").treated == 0);
  // A failed partner is none; neither is a pair across sessions.
  records.results.trials[1].status = store::TrialStatus::Failed;
  CHECK(attribute({profiled(), {}, records.results}).empty());
  records.results.trials[1].status = store::TrialStatus::Valid;
  records.results.trials[1].session = 2;
  CHECK(attribute({profiled(), {}, records.results}).empty());
  CHECK(attribute({judge::test::study(), {}, records.results}).empty());
}

TEST_CASE("a long view keeps its largest differences and sums the others") {
  AttributionView view;
  for (int i = 10; i > 0; --i)
    view.categories.push_back({"c" + std::to_string(i), 1.0 * i, 0, 2, 0, 0.1, false, false});
  view.categories.push_back({"rest", 1, 1, 0, 0, 0.0, false, true});
  view.categories.push_back({"all_reduce", 1, 1, 0, 0, std::nullopt, true, false});
  const auto kept = shortened(view, 3);
  REQUIRE(kept.size() == 6);
  CHECK(kept[2].name == "c8");
  CHECK(kept[3].name == "others");
  CHECK(kept[3].treated == 1 + 2 + 3 + 4 + 5 + 6 + 7);
  CHECK(kept[3].share.value() == Approx(0.7));
  CHECK(kept[4].name == "rest");
  CHECK(kept[5].name == "all_reduce");
  CHECK(shortened(view, 10).size() == 12);
}

TEST_CASE("differences have intervals over the blocks, as soon as there are enough") {
  judge::test::Records records;
  const auto block = [&](int64_t number) {
    const double wobble = 0.01 * double(number % 4);
    Series treated = steps(1, 0.6 + wobble);
    if (number % 2) treated["profile.step.copy"] = {0.05, 10, 0};  // in half of the blocks
    profile(records, judge::test::id("fp64", 1), number, steps(2, 1.0));
    profile(records, judge::test::id("fp32", 1), number, treated);
  };
  for (int64_t number = 1; number <= 5; ++number) block(number);
  auto all = attribute({profiled(), {}, records.results});
  REQUIRE(all.size() == 1);
  CHECK_FALSE(all[0].interval);
  block(6);
  all = attribute({profiled(), {}, records.results});
  REQUIRE(all[0].interval);
  CHECK(all[0].interval->low == Approx(-0.1));
  CHECK(all[0].interval->high == Approx(-0.1));
  CHECK(all[0].interval->confidence >= judge::kConfidence);
  const CategoryShare& backward = category(all[0].views[0], "backward");
  REQUIRE(backward.differences.size() == 6);
  CHECK(backward.differences[0] == Approx(-0.039));
  REQUIRE(backward.interval);
  // Six differences have one interval at 95 %: from the smallest to the largest.
  CHECK(backward.interval->low == Approx(-0.04));
  CHECK(backward.interval->high == Approx(-0.037));
  const CategoryShare& copy = category(all[0].views[0], "copy");
  CHECK(copy.interval->low == 0);
  CHECK(copy.interval->high == Approx(0.005));
  // What becomes one category keeps its blocks.
  const auto kept = shortened(all[0].views[0], 1);
  REQUIRE(kept[1].name == "others");
  CHECK(kept[1].interval->low == Approx(-0.03));
  CHECK(kept[1].interval->high == Approx(-0.025));
  double sum = 0;
  for (const CategoryShare& part : all[0].views[0].categories)
    if (!part.beside) sum += part.differences[2];
  CHECK(sum == Approx(all[0].differences[2]));
}

TEST_CASE("a difference that the timed trials do not show is flagged") {
  plan::Plan plan = profiled();
  judge::test::Records records;
  profile(records, judge::test::id("fp64", 1), 1, steps(2, 1.0));
  profile(records, judge::test::id("fp32", 1), 1, steps(1, 0.6));
  const auto only = [&](const Conclusions& judgement) {
    const auto all = attribute({plan, judgement, records.results});
    REQUIRE(all.size() == 1);
    return all[0];
  };
  // Nothing timed yet: it is not known, and no flag.
  Attribution one = only(conclude(plan, records.results));
  REQUIRE(one.timed.size() == 1);
  CHECK_FALSE(one.timed[0].interval);
  CHECK_FALSE(one.mayBeNone());
  const auto profiles = records.results.trials;
  records.pairs(8, 1.5, 0.01, "fp32", 100);
  one = only(conclude(plan, records.results));
  CHECK(one.timed[0].interval->low > 1.4);
  CHECK_FALSE(one.mayBeNone());
  records.results.trials = profiles;
  records.pairs(8, 1.0, 0.05, "fp32", 100);
  one = only(conclude(plan, records.results));
  REQUIRE(one.mayBeNone());
  CHECK(one.mayBeNone()->comparison == "gain");
  // A comparison of memory says nothing about time.
  for (plan::Cell& cell : plan.comparisons[0].cells)
    cell.term = judge::test::term(plan::OperationTerm{
        plan::OperationTerm::Op::Ratio,
        {judge::test::metric("memory", cell.points[1]), judge::test::metric("memory", cell.points[0])}});
  CHECK(only(conclude(plan, records.results)).timed.empty());
}

TEST_CASE("a pair can be asked for, compared or not, either way round") {
  const plan::Plan plan = profiled();
  judge::test::Records records;
  for (const char* precision : {"fp64", "fp32", "bf16"})
    profile(records, judge::test::id(precision, 1), 1, steps(precision[0] == 'f' ? 1 : 3, 0.6));
  records.pairs(8, 1.0, 0.05, "fp32", 100);
  const Conclusions judgement = conclude(plan, records.results);
  const auto ask = [&](const char* treated, const char* baseline) {
    return attributePair({plan, judgement, records.results}, judge::test::id(treated, 1), judge::test::id(baseline, 1));
  };
  const auto compared = ask("fp64", "fp32");
  REQUIRE(compared);
  CHECK(compared->comparisons == std::vector<std::string>{"gain"});
  CHECK(compared->mayBeNone());
  const auto other = ask("bf16", "fp32");
  REQUIRE(other);
  CHECK(other->comparisons.empty());
  CHECK(other->difference() == Approx(0.2));
  CHECK_FALSE(
      attributePair({plan, judgement, records.results}, judge::test::id("fp32", 2), judge::test::id("fp64", 2)));
}
