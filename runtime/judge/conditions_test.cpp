#include <doctest/doctest.h>

#include "runtime/judge/results.h"
#include "tests/support/judge/study.h"

namespace expc::judge {
namespace {

using namespace test;
using Codes = std::vector<Condition::Code>;

Codes codesOf(const CriterionResult& result) {
  Codes codes;
  for (const Condition& one : result.conditions) codes.push_back(one.code);
  return codes;
}

double numberOf(const CriterionResult& result, Condition::Code code) {
  for (const Condition& one : result.conditions)
    if (one.code == code) return one.number;
  return -1;
}

Records pairsIn(int64_t sessions) {
  Records records;
  records.pairs(9, 1.5);
  for (store::Trial& trial : records.results.trials) trial.session = 1 + trial.block % sessions;
  return records;
}

}  // namespace

TEST_CASE("a claim on pairs rests on what was not checked of them") {
  for (const int64_t sessions : {1, 2, 3}) {
    const CriterionResult result = judgedGain(pairsIn(sessions), 1.2, "1.2x");
    Codes expected;
    // So few pairs do not show whether they are correlated.
    if (result.cells[0].correlation == 0) expected.push_back(Condition::Independent);
    if (numberOf(result, Condition::Correlated) > 0) expected.push_back(Condition::Correlated);
    if (sessions < 3) expected.push_back(sessions == 1 ? Condition::OneSession : Condition::TwoSessions);
    CHECK(codesOf(result) == expected);
    for (const CellEstimate& cell : result.cells)
      if (cell.correlation > 0) CHECK(numberOf(result, Condition::Correlated) >= cell.correlation);
  }
}

TEST_CASE("lost trials are a condition, and timeouts that count as values are none") {
  const auto lost = [](TrialStatus status) {
    Records records = pairsIn(3);
    records.add(id("fp32", 1), TrialKind::Timed, 10, status).reason = "it is gone";
    records.timed(id("fp64", 1), 10, 0.1);
    return numberOf(judgedGain(records, 1.2, "1.2x"), Condition::LostAlike);
  };
  CHECK(lost(TrialStatus::Failed) == 1);
  CHECK(lost(TrialStatus::Invalid) == 1);
  CHECK(lost(TrialStatus::Infeasible) == 1);
  CHECK(lost(TrialStatus::Timeout) == -1);
  // Both of a pair: no value, as any other loss.
  Records both = pairsIn(3);
  for (const char* precision : {"fp32", "fp64"}) both.add(id(precision, 1), TrialKind::Timed, 10, TrialStatus::Timeout);
  CHECK(numberOf(judgedGain(both, 1.2, "1.2x"), Condition::LostAlike) == 2);
}

TEST_CASE("a claim on one point rests on what no second arm shares, and on the correlation that was estimated") {
  plan::Plan plan = study(9, 9);
  auto cells = metricCells(plan, "accuracy");
  cells.resize(1);
  const auto conditions = [&](bool going_on, std::optional<double> confidence) {
    Records records;
    for (int64_t block = 1; block <= 9; ++block)
      records.accuracy("fp64-1", block, 0.95 + 0.002 * double(going_on ? block : (block * 4) % 9));
    return judged(plan, criterion(cells, atLeast(0.9, "90 %"), "", confidence), records);
  };
  CHECK(codesOf(conditions(false, 0.95)) == Codes{Condition::OneSession, Condition::SingleArm});
  const CriterionResult correlated = conditions(true, 0.95);
  CHECK(codesOf(correlated) == Codes{Condition::Correlated, Condition::OneSession, Condition::SingleArm});
  CHECK(numberOf(correlated, Condition::Correlated) == correlated.cells[0].correlation);
  // A claim on every trial has a bound on how many would fail, which asks for independent trials alone.
  const CriterionResult single = conditions(true, std::nullopt);
  CHECK(codesOf(single) == Codes{Condition::Independent});
  CHECK(numberOf(single, Condition::Independent) == correlated.cells[0].correlation);
  CHECK(numberOf(conditions(false, std::nullopt), Condition::Independent) == 0);
}

TEST_CASE("exact values that never vary rest on no condition") {
  Records exact;
  exact.pairs(3, 1.5);
  auto memory = metricCells(study(3), "memory");
  CHECK(codesOf(judged(study(3), criterion(memory, atMost(0x1p31, "2GiB"), "B", 0.95), exact)).empty());
}

}  // namespace expc::judge
