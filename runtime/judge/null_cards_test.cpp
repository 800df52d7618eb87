#include <doctest/doctest.h>

#include "tests/support/judge/study.h"

using namespace expc;
using namespace expc::judge;
using namespace expc::judge::test;

namespace {

/// Every trial of `records` on null cards.
Records onNullCards(Records records) {
  for (store::Trial& trial : records.results.trials)
    trial.key = keyOf(trial.place(), trial.key->kind, "null-0123456789abcdef");
  return records;
}

Records clearGain() {
  Records records;
  records.pairs(7, 1.5);
  return records;
}

}  // namespace

TEST_CASE("what passes or fails on a card is open on a null card, with the reason") {
  for (const double bound : {1.2, 3.0}) {
    CAPTURE(bound);
    const CriterionResult real = judgedGain(clearGain(), bound, "x");
    CHECK(word(real.verdict) == (bound < 1.5 ? "pass" : "fail"));
    const CriterionResult null = judgedGain(onNullCards(clearGain()), bound, "x");
    CHECK(word(null.verdict) == "inconclusive");
    CHECK(is(null.why, Reason::OnNullCards));
    REQUIRE(null.cells.size() == 2);
    CHECK(null.cells[0].estimate.has_value());
    for (const CellEstimate& cell : null.cells) {
      CHECK(word(cell.verdict) == "inconclusive");
      CHECK(is(cell.why, Reason::OnNullCards));
    }
  }
}

TEST_CASE("claims about accuracy, about single trials and about memory are open there as well") {
  plan::Plan plan = study();
  plan.criteria.push_back(criterion(metricCells(plan, "accuracy"), atLeast(0.9, "90 %"), "", std::nullopt));
  plan::Criterion memory = criterion(metricCells(plan, "memory"), {}, "B", std::nullopt);
  memory.infeasible = true;
  plan.criteria.push_back(memory);
  Records records;
  for (const plan::Point& point : plan.points) {
    records.accuracy(point.id, 1, 0.99);
    for (const int64_t block : {1, 2}) records.add(point.id, TrialKind::Timed, block, TrialStatus::Infeasible);
  }
  for (const CriterionResult& real : judge::judge(plan, records.results).criteria) CHECK(word(real.verdict) == "pass");
  const Judgement null = judge::judge(plan, onNullCards(records).results);
  CHECK(null.null_cards);
  for (const CriterionResult& open : null.criteria) CHECK(word(open.verdict) == "inconclusive");
  CHECK(exitCode(null) == 4);
}

TEST_CASE("one trial on null cards is enough to withhold all verdicts") {
  Records records = clearGain();
  records.results.trials.back() = onNullCards(records).results.trials.back();
  CHECK(word(judgedGain(records, 1.2, "x").verdict) == "inconclusive");
}

TEST_CASE("a control that would leave a verdict untrusted judges nothing, and what was not run stays so") {
  plan::Plan plan = study();
  plan.criteria.push_back(criterion(gainCells(), atLeast(1.2, "1.2x"), "x", 0.95));
  plan.criteria.push_back(criterion(gainCells("bf16"), atLeast(1.2, "1.2x"), "x", 0.95));
  plan.controls.push_back({"again", id("fp64", 1)});
  Records records = clearGain();
  for (int64_t block = 1; block <= 7; ++block) records.timed({id("fp64", 1), "again"}, block, 5.0);
  CHECK(judge::judge(plan, records.results).criteria[0].untrusted);
  const Judgement null = judge::judge(plan, onNullCards(records).results);
  CHECK_FALSE(null.criteria[0].untrusted);
  CHECK(word(null.criteria[1].verdict) == "not run");
  REQUIRE(!null.controls.empty());
  CHECK(!null.controls[0].untrusted);
  CHECK(is(null.controls[0].estimate.why, Reason::OnNullCards));
}
