// Repetitions that go on until intervals are narrow enough.

#include <doctest/doctest.h>

#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/judge/needs.h"
#include "runtime/stats/distributions.h"
#include "runtime/store/match.h"
#include "tests/support/judge/study.h"

namespace expc::judge {
namespace {

using namespace test;

plan::Plan adaptive(double half_width, unsigned most = 20, bool relative = true) {
  plan::Plan plan = study(6, 0);
  plan.comparisons.push_back({"gain", "", "precision", "x", {"precision", "gpus"}, gainCells(), 0, ""});
  plan.design.kinds[0].repeat_most = most;
  plan.design.kinds[0].until = {{"gain", half_width, relative}};
  return plan;
}

/// Runs blocks until nothing is wanted, all of them whole; how many there were.
int64_t blocksOf(const plan::Plan& plan, Records& records, double noise) {
  stats::NormalStream normal(7);
  for (int64_t block = 1; block <= 100; ++block) {
    const auto points = nextBlock(Index(plan, records.results), TrialKind::Timed);
    if (points.empty()) return block - 1;
    CHECK(points.size() == plan.points.size());
    for (const plan::Place& point : points) records.timed(point, block, 0.1 * std::exp(noise * normal.next()));
  }
  FAIL("never ends");
  return 0;
}

}  // namespace

TEST_CASE("narrow intervals need no more than the least") {
  const plan::Plan plan = adaptive(0.01);
  Records records;
  CHECK(blocksOf(plan, records, 0.001) == 7);  // six give no interval that pays for the stop
  const auto states = untilStates(Index(plan, records.results), TrialKind::Timed);
  REQUIRE(states.size() == 1);
  CHECK(states[0].met);
  CHECK(*states[0].widest < 0.01);
  CHECK(states[0].blocks == 7);
  CHECK(states[0].most == 20);
}

TEST_CASE("wide ones get a block at a time, of all points, up to the most") {
  Records few, many;
  const int64_t some = blocksOf(adaptive(0.02), few, 0.02);
  CHECK(some > 6);
  CHECK(some < 20);
  const plan::Plan strict = adaptive(0.0001);
  CHECK(blocksOf(strict, many, 0.02) == 20);
  const auto states = untilStates(Index(strict, many.results), TrialKind::Timed);
  CHECK_FALSE(states[0].met);
  CHECK_FALSE(states[0].where.empty());
  const Judgement judgement = judge(strict, many.results);
  CHECK(judgement.untils.size() == 1);
  CHECK(judgement.comparisons[0].cells[0].scope.planned == 20);
  for (const PointStatus& status : judgement.points) CHECK(status.planned == 20);
}

TEST_CASE("the verdict has no say in it") {
  plan::Plan plan = adaptive(0.02);
  Records records;
  const int64_t plain = blocksOf(plan, records, 0.02);
  plan.criteria.push_back(criterion(gainCells(), atLeast(0.2, "0.2x"), "x", 0.95));  // passes after 6
  Records again;
  CHECK(blocksOf(plan, again, 0.02) == plain);
}

TEST_CASE("a metric's own interval can be asked for, relative or in its unit") {
  plan::Plan plan = study(6, 0);
  plan.design.kinds[0].repeat_most = 30;
  plan.design.kinds[0].until = {{"step_time", 0.002, false}};
  Records records;
  const int64_t blocks = blocksOf(plan, records, 0.02);
  CHECK(blocks > 6);
  const auto states = untilStates(Index(plan, records.results), TrialKind::Timed);
  CHECK(*states[0].widest <= 0.002);
  CHECK(blocks < 30);
  CHECK(states[0].where.find("precision=") == 0);
}

TEST_CASE("a plan that says otherwise afterwards takes back nothing of what a stop by width costs") {
  plan::Plan plan = adaptive(0.02);
  plan.criteria.push_back(criterion(gainCells(), atLeast(0.2, "0.2x"), "x", 0.95));
  Records records;
  const auto blocks = unsigned(blocksOf(plan, records, 0.02));
  for (store::Trial& trial : records.results.trials) trial.run = 1;
  plan::Plan fixed = plan;
  fixed.design.kinds[0].repeat = fixed.design.kinds[0].repeat_most = blocks;
  fixed.design.kinds[0].until.clear();
  // Of the run it is known that it adapted, that it did not, nothing, or not even what it judged.
  const auto judgedAfter = [&](std::optional<bool> adapted, bool said = true) {
    store::RunClaims of_run = *store::claimsOf(plan);
    of_run.planned.at(TrialKind::Timed).adaptive = adapted;
    records.results.looks = {{1, true, false, said ? std::make_shared<const store::RunClaims>(of_run) : nullptr}};
    return judge(fixed, records.results);
  };
  // A point's interval is one of few, but what it attains is counted otherwise.
  const auto widths = [](const Judgement& judgement) {
    const stats::Interval &gain = *judgement.criteria[0].cells[0].interval, &point = *judgement.summaries[0].interval;
    return std::vector<double>{gain.high - gain.low, point.confidence};
  };
  const std::vector<double> adapted = widths(judge(plan, records.results)), plain = widths(judgedAfter(false));
  CHECK(plain[0] < adapted[0]);
  CHECK(plain[1] > adapted[1]);
  CHECK(widths(judgedAfter(true)) == adapted);
  CHECK(widths(judgedAfter(std::nullopt)) == adapted);
  CHECK(widths(judgedAfter(std::nullopt, false)) == adapted);
}

TEST_CASE("what cannot run does not keep the others running") {
  const plan::Plan plan = adaptive(0.01);
  Records records;
  for (int64_t block = 1; block <= 100; ++block) {
    const auto points = nextBlock(Index(plan, records.results), TrialKind::Timed);
    if (points.empty()) break;
    REQUIRE(block < 12);
    for (const plan::Place& point : points) {
      if (point == "fp32-2")
        records.add(point, TrialKind::Timed, block, TrialStatus::Infeasible);
      else
        records.timed(point, block, 0.1 * (1 + 0.0001 * (block % 3)));
    }
  }
  CHECK(untilStates(Index(plan, records.results), TrialKind::Timed)[0].met);
}

}  // namespace expc::judge
