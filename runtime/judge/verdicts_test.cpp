#include <doctest/doctest.h>

#include <cmath>

#include "runtime/judge/judge.h"
#include "runtime/judge/results.h"
#include "tests/support/judge/study.h"

namespace expc::judge {

using namespace test;
using Kind = plan::Claim::Kind;

TEST_CASE("a forall passes when every cell's interval does") {
  Records records;
  records.pairs(7, 1.5);
  const CriterionResult result = judgedGain(records, 1.2, "1.2x");
  CHECK(word(result.verdict) == "pass");
  CHECK(result.scope.planned == 7);
  CHECK(result.scope.complete == 7);
  CHECK(result.scope.lost == 0);
  CHECK(result.scope.sessions == 1);
  CHECK(result.scope.nodes == 1);
  CHECK(word(result.cells[0].verdict) == "pass");
  CHECK_FALSE(result.cells[0].why);
  CHECK(result.cells[0].interval->confidence >= 0.95);
}

TEST_CASE("drift that a block's members share cancels") {
  Records records;
  records.pairs(7, 1.5, 0);
  const CriterionResult result = judgedGain(records, 1.5, "1.5x");
  // Blocks differ by a factor of 1.8, the ratio by nothing but rounding: equal to the bound, not below.
  CHECK(word(result.verdict) == "pass");
}

TEST_CASE("a forall fails when a cell violates after Holm") {
  Records records;
  records.pairs(7, 1.1);
  const CriterionResult result = judgedGain(records, 1.2, "1.2x");
  CHECK(word(result.verdict) == "fail");
  CHECK(word(result.cells[1].verdict) == "fail");
}

TEST_CASE("an interval across the bound decides nothing") {
  Records records;
  records.pairs(7, 1.2);
  const CriterionResult result = judgedGain(records, 1.2, "1.2x");
  CHECK(word(result.verdict) == "inconclusive");
  CHECK_FALSE(result.cells[0].uncorrected);
}

TEST_CASE("six pairs can pass two cells but not fail them") {
  Records records;
  records.pairs(6, 1.5);
  plan::Plan plan = study(6);
  CHECK(word(judged(plan, criterion(gainCells(), atLeast(1.2, "1.2x"), "x", 0.95), records).verdict) == "pass");
  const CriterionResult open = judged(plan, criterion(gainCells(), atLeast(2, "2x"), "x", 0.95), records);
  CHECK(word(open.verdict) == "inconclusive");
  CHECK(open.cells[0].uncorrected);
  CHECK_FALSE(open.cells[0].interval);
  CHECK(open.cells[0].confidence == doctest::Approx(0.975));
  CHECK(is(open.cells[0].why, plan::Reason::TooFew));
  // With enough of them the wider interval is shown, which reaches the bound.
  Records nine;
  nine.pairs(9, 1.5);
  const double end = judgedGain(nine, 1, "1x").cells[0].interval->high * 1.0001;
  const CriterionResult near = judgedGain(nine, end, "the end");
  CHECK(word(near.verdict) == "inconclusive");
  // It is the one that the table shows, and does not decide.
  CHECK(near.cells[0].interval->high > end);
  CHECK(near.cells[0].interval->confidence > 0.97);
  REQUIRE(near.cells[0].uncorrected);
  CHECK(near.cells[0].uncorrected->high < end);
  // One cell needs no correction.
  auto one = gainCells();
  one.pop_back();
  CHECK(word(judged(plan, criterion(one, atLeast(2, "2x"), "x", 0.95), records).verdict) == "fail");
  // And an exists is the reverse.
  CHECK(word(judged(plan, criterion(gainCells(), atLeast(1.2, "1.2x"), "x", 0.95, Kind::Exists), records).verdict) ==
        "inconclusive");
  const CriterionResult none = judged(plan, criterion(gainCells(), atLeast(2, "2x"), "x", 0.95, Kind::Exists), records);
  CHECK(word(none.verdict) == "fail");
}

TEST_CASE("an exists passes when one cell does after Holm") {
  Records records;
  records.pairs(7, 1.5);
  for (store::Trial& trial : records.results.trials) {
    if (trial.key->place.point == "fp32-2") trial.metrics["step_time"] *= 2;
  }
  const CriterionResult result = judgedGain(records, 1.2, "1.2x", Kind::Exists);
  CHECK(word(result.verdict) == "pass");
  CHECK(word(judgedGain(records, 1.2, "1.2x").verdict) == "fail");
}

TEST_CASE("nested quantifiers") {
  Records records;
  records.pairs(8, 1.5);
  records.pairs(8, 0.8, 0.01, "bf16");
  auto cells = gainCells();
  for (plan::Cell& cell : gainCells("bf16")) cells.push_back(cell);
  auto claim = criterion(cells, atLeast(1.2, "1.2x"), "x", 0.95);
  const auto leaf = [](unsigned cell) { return plan::Claim{Kind::Cell, {}, cell}; };
  // forall gpus: exists precision
  claim.claim = {Kind::ForAll, {{Kind::Exists, {leaf(0), leaf(2)}, 0}, {Kind::Exists, {leaf(1), leaf(3)}, 0}}, 0};
  const CriterionResult pass = judged(study(8), claim, records);
  CHECK(word(pass.verdict) == "pass");
  CHECK(word(pass.cells[0].verdict) == "pass");
  CHECK(word(pass.cells[2].verdict) == "fail");
  // exists precision: forall gpus
  claim.claim = {Kind::Exists, {{Kind::ForAll, {leaf(0), leaf(1)}, 0}, {Kind::ForAll, {leaf(2), leaf(3)}, 0}}, 0};
  const CriterionResult some = judged(study(8), claim, records);
  CHECK(word(some.verdict) == "pass");
  // forall precision: exists gpus
  claim.claim = {Kind::ForAll, {{Kind::Exists, {leaf(0), leaf(1)}, 0}, {Kind::Exists, {leaf(2), leaf(3)}, 0}}, 0};
  CHECK(word(judged(study(8), claim, records).verdict) == "fail");
}

TEST_CASE("bands and upper bounds") {
  Records records;
  records.pairs(7, 1.0);
  const auto band = [&](double low, double high, std::string text) {
    return judged(study(), criterion(gainCells(), {Relation::Within, low, high, std::move(text)}, "x", 0.95), records);
  };
  CHECK(word(band(0.96, 1.04, "within 0.96x..1.04x").verdict) == "pass");
  CHECK(word(band(1.10, 1.20, "within 1.1x..1.2x").verdict) == "fail");
  CHECK(word(band(1.00, 1.20, "within 1x..1.2x").verdict) == "inconclusive");
  const auto at_most = [&](double bound) {
    return judged(study(), criterion(gainCells(), atMost(bound, "limit"), "x", 0.95), records).verdict;
  };
  CHECK(word(at_most(1.1)) == "pass");
  CHECK(word(at_most(0.9)) == "fail");
  CHECK(word(at_most(1.0)) == "inconclusive");
}

TEST_CASE("too few pairs, and why the others were lost") {
  Records records;
  records.pairs(4, 1.5);
  for (int64_t block = 5; block <= 7; ++block) {
    for (const int gpus : {1, 2}) {
      records.timed(id("fp64", gpus), block, 0.1);
      records.add(id("fp32", gpus), TrialKind::Timed, block, TrialStatus::Failed).reason =
          "rank 1 died with signal 9\ntrace";
    }
  }
  const CriterionResult result = judgedGain(records, 1.2, "1.2x");
  CHECK(word(result.verdict) == "inconclusive");
  CHECK(result.scope.complete == 4);
  CHECK(result.scope.lost == 3);
  CHECK(is(result.cells[0].why, Reason::TooFew, {6, 95, 4}));
  CHECK(is(result.cells[0].why->because, Reason::Failed));
  CHECK(result.cells[0].why->because->said == "rank 1 died with signal 9");
  CHECK(result.cells[0].unfinished);
  CHECK(result.cells[0].estimate);  // shown, though nothing is decided by it
}

TEST_CASE("members of different sessions are no pair") {
  Records records;
  records.pairs(6, 1.5);
  for (store::Trial& trial : records.results.trials) {
    if (trial.key->place.point == "fp32-1" && trial.block == 6) trial.session = 2;
  }
  const CriterionResult result = judgedGain(records, 1.2, "1.2x");
  CHECK(result.cells[0].scope.complete == 5);
  CHECK(result.cells[0].scope.lost == 1);
  CHECK(is(result.cells[0].why->because, Reason::NotTogether));
  CHECK(word(result.cells[1].verdict) == "pass");
  CHECK(word(result.verdict) == "inconclusive");
}

TEST_CASE("scope counts sessions and nodes") {
  Records records;
  records.pairs(7, 1.5);
  store::Session second;
  second.id = 2;
  second.where.nodes = {"node2"};
  records.results.sessions.push_back(second);
  for (store::Trial& trial : records.results.trials) {
    if (trial.block > 4) trial.session = 2;
  }
  const CriterionResult result = judgedGain(records, 1.2, "1.2x");
  CHECK(word(result.verdict) == "pass");
  CHECK(result.scope.sessions == 2);
  CHECK(result.scope.nodes == 2);
}

TEST_CASE("scope counts the nodes of a group on which the trials ran, and no others") {
  for (const unsigned nodes : {1, 2}) {
    Records records;
    records.pairs(7, 1.5);
    records.results.sessions[0].where = {{"n1", "n2", "n3"}, "node:0", {}};
    for (store::Trial& trial : records.results.trials) trial.nodes = nodes;
    const CriterionResult result = judgedGain(records, 1.2, "1.2x");
    CHECK(result.scope.sessions == 1);
    CHECK(result.scope.nodes == nodes);
  }
}

TEST_CASE("a timeout is worse than every value") {
  Records records;
  records.pairs(8, 1.5);
  const auto time_out = [&](const std::string& point, int64_t block) {
    for (store::Trial& trial : records.results.trials) {
      if (trial.key->place.point == point && trial.block == block) {
        trial.status = TrialStatus::Timeout;
        trial.metrics.clear();
      }
    }
  };
  time_out("fp32-1", 3);
  CriterionResult result = judgedGain(records, 1.2, "1.2x");
  // One of eight: eight Walsh averages hold the timeout, and the lower end is the fourth smallest.
  CHECK(result.cells[0].interval->low == 0);
  CHECK(word(result.cells[0].verdict) == "inconclusive");
  CHECK(std::isfinite(*result.cells[0].estimate));
  CHECK(word(result.cells[1].verdict) == "pass");
  // All of them: it is slower, with certainty.
  for (int64_t block = 1; block <= 8; ++block) time_out("fp32-1", block);
  result = judgedGain(records, 1.2, "1.2x");
  CHECK(word(result.verdict) == "fail");
  CHECK(*result.cells[0].estimate == 0);
  // One of twelve does not reach the fourteenth smallest average, where the interval ends.
  Records many;
  many.pairs(12, 1.5);
  many.results.trials[1].status = TrialStatus::Timeout;
  CHECK(word(judgedGain(many, 1.2, "1.2x").verdict) == "pass");
  // A timed-out baseline says that the treated point is faster.
  Records other;
  other.pairs(7, 1.5);
  for (store::Trial& trial : other.results.trials) {
    if (trial.key->place.point == "fp64-2") trial.status = TrialStatus::Timeout;
  }
  result = judgedGain(other, 1.2, "1.2x");
  CHECK(word(result.verdict) == "pass");
  CHECK(std::isinf(*result.cells[1].estimate));
}

TEST_CASE("out of memory: infeasible, unstable, and without a baseline") {
  const auto out_of_memory = [](Records& records, const std::string& point, int64_t from, int64_t to) {
    for (store::Trial& trial : records.results.trials) {
      if (trial.key->place.point != point || trial.block < from || trial.block > to) continue;
      trial.status = TrialStatus::Infeasible;
      trial.metrics.clear();
    }
  };
  Records infeasible;
  infeasible.pairs(7, 1.5);
  out_of_memory(infeasible, "fp32-2", 1, 7);
  CriterionResult result = judgedGain(infeasible, 1.2, "1.2x");
  CHECK(word(result.verdict) == "fail");
  CHECK(word(result.cells[1].verdict) == "infeasible");
  CHECK(is(result.cells[1].why, Reason::RanOutIn, {7}));
  CHECK(word(judgedGain(infeasible, 1.2, "1.2x", Kind::Exists).verdict) == "pass");
  out_of_memory(infeasible, "fp32-1", 1, 2);
  CHECK(word(judgedGain(infeasible, 1.2, "1.2x").verdict) == "infeasible");

  Records unstable;
  unstable.pairs(8, 1.5);
  out_of_memory(unstable, "fp32-2", 3, 3);
  result = judgedGain(unstable, 1.2, "1.2x");
  CHECK(word(result.verdict) == "fail");
  CHECK(is(result.cells[1].why, Reason::Unstable, {1, 8}));
  for (store::Trial& trial : unstable.results.trials)
    if (trial.status == TrialStatus::Infeasible) trial.reason = "killed by the kernel: out of memory\nand more";
  result = judgedGain(unstable, 1.2, "1.2x");
  CHECK(result.cells[1].why->said == "killed by the kernel: out of memory");

  Records once;  // not yet a result
  once.pairs(1, 1.5);
  out_of_memory(once, "fp32-2", 1, 1);
  CHECK(word(judgedGain(once, 1.2, "1.2x").cells[1].verdict) == "inconclusive");

  Records baseline;
  baseline.pairs(7, 1.5);
  out_of_memory(baseline, "fp64-2", 1, 7);
  result = judgedGain(baseline, 1.2, "1.2x");
  CHECK(word(result.verdict) == "inconclusive");
  CHECK(is(result.cells[1].why, Reason::NoBaseline, {7}));
}

TEST_CASE("a block is lost for a cell only if all of its points were tried in it") {
  // fp64 alone ran in three blocks before fp32 was added to the study.
  Records records;
  for (int64_t block = 1; block <= 3; ++block) records.timed(id("fp64", 1), block, 0.1);
  records.pairs(7, 1.5, 0.01, "fp32", 10);
  const CriterionResult added = judgedGain(records, 1.2, "1.2x");
  CHECK(word(added.verdict) == "pass");
  CHECK(added.scope.complete == 7);
  CHECK(added.scope.lost == 0);
  // A failed member loses the block for the pairs that read it, and for no others.
  records.add(id("fp32", 1), TrialKind::Timed, 20, TrialStatus::Failed).reason = "no licence server";
  records.timed(id("fp64", 1), 20, 0.1);
  const CriterionResult lost = judgedGain(records, 1.2, "1.2x");
  CHECK(lost.cells[0].scope.lost == 1);
  CHECK(lost.cells[1].scope.lost == 0);
}

TEST_CASE("a geometric mean has one value a block, of all parts or of none, and needs no correction") {
  const std::vector<plan::Cell> parts = gainCells();
  plan::Cell cell;
  cell.levels = {1};
  cell.term = term(plan::AggregateTerm{plan::AggregateTerm::Function::Geomean, {parts[0].term, parts[1].term}, {}});
  cell.estimator = plan::Estimator::PairedRatio;
  cell.points = {id("fp32", 1), id("fp32", 2), id("fp64", 1), id("fp64", 2)};
  cell.treated = 2;
  plan::Criterion claim = criterion({cell}, atLeast(1.2, "1.2x"), "x", 0.95);
  claim.factors = {"precision"};
  // Each part halves or doubles with the block, and both together never change.
  Records records;
  for (int64_t block = 1; block <= 7; ++block) {
    const double shift = block % 2 == 0 ? 2 : 0.5, time = 0.1 + 0.00137 * double(block);
    for (const int gpus : {1, 2}) records.timed(id("fp64", gpus), block, time);
    records.timed(id("fp32", 1), block, time * shift / 1.5);
    records.timed(id("fp32", 2), block, time / shift / 1.5);
  }
  const plan::Plan plan = study();
  const CriterionResult all = judged(plan, claim, records);
  CHECK(word(all.verdict) == "pass");
  CHECK(all.scope.complete == 7);
  for (const double value : all.cells[0].values) CHECK(value == doctest::Approx(1.5));
  // A block in which one part failed has no value, though the other part has one.
  records.add(id("fp32", 2), TrialKind::Timed, 8, TrialStatus::Failed).reason = "no licence server";
  records.timed(id("fp32", 1), 8, 1 / 1.5);
  for (const int gpus : {1, 2}) records.timed(id("fp64", gpus), 8, 1);
  const CriterionResult lost = judged(plan, claim, records);
  CHECK(lost.cells[0].values.size() == 7);
  CHECK(lost.cells[0].scope.lost == 1);
  // A part that cannot run leaves no mean of the others, whichever part it is.
  for (int64_t block = 9; block <= 11; ++block)
    records.add(id("fp32", 2), TrialKind::Timed, block, TrialStatus::Infeasible);
  CHECK_FALSE(is(judged(plan, claim, records).cells[0].why, Reason::NoBaseline));
}

TEST_CASE("a rate that was infinite diverged: it is as bad as a timeout, and no median lies between opposite ends") {
  plan::Plan plan = study(2);
  Records records;
  records.add(id("fp64", 1), TrialKind::Timed, 1, TrialStatus::Valid, {{"images_per_s", INFINITY}});
  records.add(id("fp64", 1), TrialKind::Timed, 2, TrialStatus::Timeout);
  const Judgement judgement = judge(plan, records.results);
  const Summary* summary = judgement.find(id("fp64", 1), "images_per_s");
  REQUIRE(summary != nullptr);
  CHECK(summary->n == 2);
  CHECK(summary->diverged == 1);
  CHECK(summary->timeouts == 1);
  CHECK(summary->median == -INFINITY);
}

}  // namespace expc::judge
