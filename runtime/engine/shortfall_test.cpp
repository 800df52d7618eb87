#include <doctest/doctest.h>

#include "runtime/engine/scheduler.h"
#include "tests/support/judge/study.h"

namespace expc::engine {

using namespace judge::test;

TEST_CASE("what is not there is said with its reason") {
  const plan::Plan plan = study(2, 0);
  Records records;
  for (const int64_t block : {1, 2})
    for (const plan::Point& point : plan.points) {
      store::Trial& trial = records.timed(point.id, block, 0.1);
      if (block == 1 || point.id != "fp32-2") continue;
      trial.status = TrialStatus::Failed;
      trial.reason = "no licence server\nand more";
    }
  CHECK(shortfallText(judge::Index(plan, records.results)) ==
        "1 of 12 trials failed; timed precision=fp32 gpus=2 has 1 of 2 (no licence server)");
  CHECK(failureText(judge::Index(plan), {TrialKind::Timed, "fp32-2", 2, "no licence server\nand more"}) ==
        "timed precision=fp32 gpus=2: no licence server");
  records.timed("fp32-2", 3, 0.1);
  CHECK(shortfallText(judge::Index(plan, records.results)).empty());
}

TEST_CASE("trials that a look has ended are said to be") {
  plan::Plan plan = study(20, 0);
  plan.design.kinds[0].looks = {8, 14};
  plan.criteria.push_back(criterion(gainCells(), atLeast(1.2, "1.2x"), "x", 0.95));
  Records records;
  for (const unsigned more : {7, 1}) {
    CHECK(endedAtLookText(judge::Index(plan, records.results)).empty());
    records.pairs(more, 1.5, 0.01, "fp32", more == 7 ? 1 : 8);
    records.pairs(more, 1.5, 0.01, "bf16", more == 7 ? 1 : 8);
  }
  CHECK(endedAtLookText(judge::Index(plan, records.results)) ==
        "stopped early: every criterion was decided at the look after 8 of 20 timed blocks");
}

}  // namespace expc::engine
