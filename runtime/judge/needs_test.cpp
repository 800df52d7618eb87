#include "runtime/judge/needs.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/support/judge/study.h"

namespace expc::judge {
namespace {

using namespace test;

plan::Plan paired(unsigned repeat = 7, unsigned quality = 1) {
  plan::Plan plan = study(repeat, quality);
  plan.comparisons.push_back({"gain", "", "precision", "x", {"precision", "gpus"}, gainCells(), 0, ""});
  return plan;
}

/// Runs blocks until nothing is wanted; `status` says how each trial ends. Returns the size of each block.
template <class Status>
std::vector<size_t> runAll(const plan::Plan& plan, TrialKind kind, Records& records, Status status) {
  std::vector<size_t> sizes;
  for (int64_t block = 1; block <= 100; ++block) {
    const auto points = nextBlock(Index(plan, records.results), kind);
    if (points.empty()) return sizes;
    sizes.push_back(points.size());
    for (const plan::Place& point : points) records.add(point, kind, block, status(point, block));
  }
  FAIL("never ends");
  return sizes;
}

const auto kAllWell = [](const plan::Place&, int64_t) { return TrialStatus::Valid; };

}  // namespace

TEST_CASE("a first run is `repeat` blocks of all points") {
  const plan::Plan plan = paired();
  Records records;
  CHECK(remaining(Index(plan, records.results), TrialKind::Timed).blocks == 7);
  CHECK(remaining(Index(plan, records.results), TrialKind::Timed).trials == 42);
  CHECK(runAll(plan, TrialKind::Timed, records, kAllWell) == std::vector<size_t>(7, 6));
  CHECK(remaining(Index(plan, records.results), TrialKind::Timed).trials == 0);
  // Kinds are apart, and one that the design lacks is never asked for.
  CHECK(nextBlock(Index(plan, records.results), TrialKind::Quality).size() == 6);
  CHECK(nextBlock(Index(plan, records.results), TrialKind::Profile).empty());
}

TEST_CASE("a lost trial is repeated with its partners only") {
  const plan::Plan plan = paired();
  Records records;
  const auto sizes = runAll(plan, TrialKind::Timed, records, [](const plan::Place& point, int64_t block) {
    return point == "fp32-2" && block == 3 ? TrialStatus::Failed : TrialStatus::Valid;
  });
  CHECK(sizes == std::vector<size_t>{6, 6, 6, 6, 6, 6, 6, 2});
  // A point of no comparison comes back alone.
  Records other;
  const auto alone = runAll(plan, TrialKind::Timed, other, [](const plan::Place& point, int64_t block) {
    return point == "bf16-1" && block == 3 ? TrialStatus::Failed : TrialStatus::Valid;
  });
  CHECK(alone == std::vector<size_t>{6, 6, 6, 6, 6, 6, 6, 1});
}

TEST_CASE("a disturbed trial has no value, and counts against the blocks that may be tried in its own run only") {
  const plan::Plan plan = paired(2);
  Index running(plan);
  running.startRun({});
  Records records;
  for (int64_t block = 1; block <= 9; ++block) {
    const auto points = nextBlock(running, TrialKind::Timed);
    if (points.empty()) break;
    for (const plan::Place& point : points) {
      const auto status = point == "fp32-2" ? TrialStatus::Invalid : TrialStatus::Valid;
      running.add(records.add(point, TrialKind::Timed, block, status, {{"step_time", 0.1}}));
    }
  }
  const PlaceOutcomes& place = running.of(TrialKind::Timed, plan::Place("fp32-2"));
  CHECK(place.tried == 3);  // half as many again
  CHECK(place.ended == 0);
  CHECK(place.invalid == 3);
  CHECK(running.tally().invalid == 3);
  CHECK(nextBlock(running, TrialKind::Timed).empty());
  const Index later(plan, records.results);
  CHECK(later.of(TrialKind::Timed, plan::Place("fp32-2")).tried == 0);
  CHECK(!nextBlock(later, TrialKind::Timed).empty());
  const Judgement judgement = judge(later);
  const PointStatus* status = judgement.status("fp32-2", TrialKind::Timed);
  REQUIRE(status);
  CHECK(status->invalid == 3);
  CHECK(!status->lacking);
  const Summary* summary = judgement.find("fp32-2", "step_time");
  CHECK((!summary || summary->n == 0));
}

TEST_CASE("a point that keeps failing stops at half as many extra blocks") {
  const plan::Plan plan = paired();
  Records records;
  const auto sizes = runAll(plan, TrialKind::Timed, records, [](const plan::Place& point, int64_t) {
    return point == "fp32-2" ? TrialStatus::Failed : TrialStatus::Valid;
  });
  CHECK(sizes == std::vector<size_t>{6, 6, 6, 6, 6, 6, 6, 2, 2, 2, 2});  // 7 + 4
  CHECK(remaining(Index(plan, records.results), TrialKind::Timed).blocks == 0);
}

TEST_CASE("timeouts are not run again, and four of them settle a point about which nothing is claimed") {
  const plan::Plan plan = paired();
  Records records;
  const auto sizes = runAll(plan, TrialKind::Timed, records, [](const plan::Place& point, int64_t) {
    return point == "fp32-2" ? TrialStatus::Timeout : TrialStatus::Valid;
  });
  CHECK(sizes == std::vector<size_t>{6, 6, 6, 6, 5, 5, 5});
}

TEST_CASE("infeasible twice is enough, for the point and for what pairs with it") {
  const plan::Plan plan = paired();
  Records records;
  const auto sizes = runAll(plan, TrialKind::Timed, records, [](const plan::Place& point, int64_t) {
    return point == "fp32-2" ? TrialStatus::Infeasible : TrialStatus::Valid;
  });
  CHECK(sizes == std::vector<size_t>{6, 6, 5, 5, 5, 5, 5});
  // One quality block is planned; out of memory needs a second to be called infeasible.
  const auto quality = runAll(plan, TrialKind::Quality, records, [](const plan::Place& point, int64_t) {
    return point == "fp32-2" ? TrialStatus::Infeasible : TrialStatus::Valid;
  });
  CHECK(quality == std::vector<size_t>{6, 1});
}

TEST_CASE("unavailable points are never asked for, nor is a pair with one") {
  plan::Plan plan = paired();
  plan.points[3].unavailable = "the node has fewer cards";  // fp32-2
  Records records;
  const auto points = nextBlock(Index(plan, records.results), TrialKind::Timed);
  CHECK(points.size() == 5);
  CHECK(!is_contained(points, "fp32-2"));
  CHECK(runAll(plan, TrialKind::Timed, records, kAllWell) == std::vector<size_t>(7, 5));
}

TEST_CASE("members in different sessions are no pair and are run again") {
  const plan::Plan plan = paired(2, 0);
  Records records;
  for (const int64_t block : {1, 2}) {
    for (const plan::Point& point : plan.points) {
      const bool late = block == 2 && point.id == "fp32-1";
      records.add(point.id, TrialKind::Timed, block, TrialStatus::Valid, {}, late ? 2 : 1);
    }
  }
  CHECK(nextBlock(Index(plan, records.results), TrialKind::Timed) == std::vector<plan::Place>{"fp64-1", "fp32-1"});
}

TEST_CASE("a cut block is replaced for the pairs it lacks") {
  const plan::Plan plan = paired(2, 0);
  Records records;
  for (const plan::Point& point : plan.points) records.add(point.id, TrialKind::Timed, 1, TrialStatus::Valid);
  records.add("fp64-1", TrialKind::Timed, 2, TrialStatus::Valid);
  records.add("fp64-2", TrialKind::Timed, 2, TrialStatus::Valid);
  records.add("fp32-2", TrialKind::Timed, 2, TrialStatus::Valid);
  // fp64-1 has its two trials but fp32-1 has not met it twice; the pair on two gpus is complete.
  CHECK(nextBlock(Index(plan, records.results), TrialKind::Timed) ==
        std::vector<plan::Place>{"fp64-1", "fp32-1", "bf16-1", "bf16-2"});
}

TEST_CASE("a level added later meets its old partners again, in full") {
  const plan::Plan plan = paired();
  Records records;
  for (int64_t block = 1; block <= 7; ++block) {
    for (const plan::Point& point : plan.points) {
      if (point.id != "fp32-1") records.add(point.id, TrialKind::Timed, block, TrialStatus::Valid);
    }
  }
  CHECK(remaining(Index(plan, records.results), TrialKind::Timed).trials == 14);
}

TEST_CASE("records that are no outcome, or come twice, change nothing") {
  const plan::Plan plan = paired(1, 0);
  Records records;
  records.add("fp64-1", TrialKind::Timed, 1, TrialStatus::Running);
  records.add("fp64-1", TrialKind::Timed, 1, TrialStatus::Interrupted);
  CHECK(nextBlock(Index(plan, records.results), TrialKind::Timed).size() == 6);
  const plan::Plan twice = paired(2, 0);
  records.add("bf16-1", TrialKind::Timed, 1, TrialStatus::Valid);
  records.results.trials.push_back(records.results.trials.back());
  const auto points = nextBlock(Index(twice, records.results), TrialKind::Timed);
  CHECK(is_contained(points, "bf16-1"));
}

}  // namespace expc::judge
