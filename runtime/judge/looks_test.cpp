#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "runtime/judge/criteria.h"
#include "runtime/judge/index.h"
#include "runtime/judge/meaning.h"
#include "runtime/judge/needs.h"
#include "runtime/plan/evaluate.h"
#include "runtime/stats/distributions.h"
#include "tests/support/judge/study.h"

namespace expc::judge {

using namespace test;

namespace {

/// Twenty repetitions with looks after 8 and 14, and one criterion on what fp32 gains.
plan::Plan planned(double bound = 1.2) {
  plan::Plan plan = study(20, 0);
  plan.design.kinds[0].looks = {8, 14};
  plan.criteria.push_back(criterion(gainCells(), atLeast(bound, "the bound"), "x", 0.95));
  // The third precision is of no criterion, but its trials are repeated as often.
  return plan;
}

/// All points in these blocks.
void measureAll(Records& records, unsigned blocks, double gain, int first = 1) {
  records.pairs(blocks, gain, 0.01, "fp32", first);
  records.pairs(blocks, gain, 0.01, "bf16", first);
}

/// All points in these blocks, measured by a run.
void measureBy(Records& records, int64_t run, unsigned blocks, double gain, int first = 1) {
  const size_t before = records.results.trials.size();
  measureAll(records, blocks, gain, first);
  for (size_t i = before; i < records.results.trials.size(); ++i) records.results.trials[i].run = run;
}

/// A run of `repeat` repetitions that judged what `plan` judges, or was cut before.
store::PastLook ran(const plan::Plan& plan, int64_t run, unsigned repeat, bool said = true) {
  store::RunClaims judged;
  judged.planned[TrialKind::Timed] = {repeat, {}, false};
  for (const plan::Criterion& criterion : plan.criteria)
    for (const plan::Cell& cell : criterion.cells) judged.subjects.insert(plan::subjectOf(plan, cell));
  return {run, said, false, std::make_shared<const store::RunClaims>(std::move(judged))};
}

using Before = std::vector<unsigned>;

/// The plan of `repeat` repetitions, claiming a gain of 1.2x with 95 % confidence.
plan::Plan claiming(unsigned repeat) {
  plan::Plan plan = study(repeat, 0);
  plan.criteria.push_back(criterion(gainCells(), atLeast(1.2, "1.2x"), "x", 0.95));
  return plan;
}

}  // namespace

TEST_CASE("a clear effect ends the trials at the first look, and its verdict is final") {
  const plan::Plan plan = planned();
  Records records;
  measureAll(records, 7, 1.5);
  CHECK(repetitionsAsked(Index(plan, records.results), plan.design.kinds[0]) == 8);
  measureAll(records, 1, 1.5, 8);
  const Index index(plan, records.results);
  CHECK(nextBlock(index, TrialKind::Timed).empty());
  CHECK(!lacksTrials(index));
  CHECK(endedAtLook(index) == &plan.design.kinds[0]);
  const Judgement judgement = judge(index);
  const CriterionResult& result = judgement.criteria[0];
  CHECK(word(result.verdict) == "pass");
  CHECK(!result.provisional);
  REQUIRE(result.look);
  CHECK(result.look->now == 8);
  CHECK(result.look->of == 20);
  CHECK(result.look->before.empty());
  CHECK(result.look->confidence > 0.97);
  CHECK(meaningOf(judgement.criteria[0]).exit_code == 0);
}

TEST_CASE("what a look does not decide goes on to the next, at the level that is left") {
  const plan::Plan plan = planned(1.5);
  Records records;
  measureAll(records, 8, 1.5);
  CHECK(repetitionsAsked(Index(plan, records.results), plan.design.kinds[0]) == 14);
  measureAll(records, 2, 1.5, 9);
  const Judgement between = judge(plan, records.results);
  CHECK(between.criteria[0].look->before == std::vector<unsigned>{8});
  CHECK(exitCode(between) == 4);
  measureAll(records, 4, 1.5, 11);
  CHECK(repetitionsAsked(Index(plan, records.results), plan.design.kinds[0]) == 20);
  measureAll(records, 6, 1.5, 15);
  const Index index(plan, records.results);
  CHECK(nextBlock(index, TrialKind::Timed).empty());
  CHECK_FALSE(endedAtLook(index));
  const CriterionResult result = judge(index).criteria[0];
  CHECK(result.look->before == std::vector<unsigned>{8, 14});
  CHECK(result.look->now == 20);
  CHECK(result.look->confidence > 0.95);
  CHECK(result.look->confidence < 0.99);
}

TEST_CASE("beyond a look that did not decide, later values do not make it decide") {
  const plan::Plan plan = planned(1.2);
  Records records;
  // Eight blocks at the bound, then two that are far above it.
  measureAll(records, 8, 1.2);
  measureAll(records, 2, 9, 9);
  CHECK(repetitionsAsked(Index(plan, records.results), plan.design.kinds[0]) == 14);
}

TEST_CASE("trials under way keep the others waiting for the look") {
  const plan::Plan plan = planned();
  Records records;
  measureAll(records, 7, 1.5);
  const Index index(plan, records.results);
  std::vector<plan::Place> all;
  for (const plan::Point& point : plan.points) all.push_back(point.id);
  CHECK(!nextBlock(index, TrialKind::Timed).empty());
  const BlockUnderWay under_way{8, all};
  CHECK(nextBlock(index, TrialKind::Timed, {&under_way, 1}).empty());
}

TEST_CASE("a verdict of an unfinished design is provisional and decides nothing yet") {
  plan::Plan plan = study(10, 0);
  plan.criteria.push_back(criterion(gainCells(), atLeast(1.2, "1.2x"), "x", 0.95));
  Records records;
  measureAll(records, 7, 1.5);
  const Judgement judgement = judge(plan, records.results);
  CHECK(word(judgement.criteria[0].verdict) == "pass");
  CHECK(judgement.criteria[0].provisional);
  CHECK(exitCode(judgement) == 4);
  measureAll(records, 3, 1.5, 8);
  const Judgement whole = judge(plan, records.results);
  CHECK(!whole.criteria[0].provisional);
  CHECK(!whole.criteria[0].look);
  CHECK(meaningOf(whole.criteria[0]).exit_code == 0);
}

TEST_CASE("verdicts that were given before are paid for by how much was there, whatever asks") {
  const plan::Plan plan = claiming(10);
  Records records;
  // Repeats the same design, each time with ten more blocks (--fresh).
  for (int run = 1; run <= 4; ++run) measureBy(records, run, 10, 1.5, 10 * run - 9);
  CHECK(!judge(plan, records.results).criteria[0].look);
  records.results.looks = {ran(plan, 1, 10), ran(plan, 2, 10), ran(plan, 3, 10), ran(plan, 4, 10)};
  const CriterionResult result = judge(plan, records.results).criteria[0];
  REQUIRE(result.look);
  CHECK(result.look->before == Before{10, 20, 30});
  CHECK(result.look->now == 40);
  CHECK(result.look->confidence > 0.998);
  CHECK(word(result.verdict) == "pass");

  // Neither another name nor another bound, direction or study makes it another claim; other metrics do.
  plan::Plan renamed = plan;
  renamed.study = "another";
  renamed.criteria[0].name = "renamed";
  renamed.criteria[0].bound = atLeast(1.1, "1.1x");
  for (plan::Cell& cell : renamed.criteria[0].cells)
    cell.term = term(plan::OperationTerm{plan::OperationTerm::Op::Ratio,
                                         {metric("step_time", cell.points[0]), metric("step_time", cell.points[1])}});
  CHECK(judge(renamed, records.results).criteria[0].look->before == Before{10, 20, 30});
  for (plan::Cell& cell : renamed.criteria[0].cells)
    cell.term =
        term(plan::OperationTerm{plan::OperationTerm::Op::Ratio,
                                 {metric("images_per_s", cell.points[0]), metric("images_per_s", cell.points[1])}});
  CHECK(!judge(renamed, records.results).criteria[0].look);
}

TEST_CASE("what a verdict has in front of it alone is no look before it") {
  // A run that goes on until intervals are narrow gives one verdict, however many repetitions it took.
  plan::Plan plan = claiming(8);
  plan.design.kinds[0].repeat_most = 16;
  plan.design.kinds[0].until = {{"claim", 0.01, true}};
  Records records;
  measureBy(records, 1, 12, 1.5);
  records.results.looks = {ran(plan, 1, 8)};
  CHECK(!judge(plan, records.results).criteria[0].look);
}

TEST_CASE("a design that is made smaller when there is data to see is a look that nobody planned") {
  Records records;
  measureBy(records, 1, 14, 1.5);
  const plan::Plan planned = claiming(40), smaller = claiming(14);
  records.results.looks = {ran(planned, 1, 40, false)};
  const CriterionResult result = judge(smaller, records.results).criteria[0];
  REQUIRE(result.look);
  CHECK(result.look->now == 14);
  CHECK(result.look->of == 40);
  CHECK(result.look->confidence > 0.999);
  // The verdict as planned is provisional, and its intervals are those of all values.
  const CriterionResult provisional = judge(planned, records.results).criteria[0];
  CHECK(provisional.provisional);
  CHECK(!provisional.look);
  // With five pairs nothing could be seen, so what was planned then may be changed.
  Records few;
  measureBy(few, 1, 5, 1.5);
  measureBy(few, 2, 9, 1.5, 6);
  few.results.looks = {ran(planned, 1, 40, false), ran(smaller, 2, 14)};
  CHECK(!judge(smaller, few.results).criteria[0].look);
}

TEST_CASE("a run of which it is not known what it judged counts as a look at everything, and is told") {
  const plan::Plan plan = claiming(20);
  Records records;
  measureBy(records, 1, 10, 1.5);
  measureBy(records, 2, 10, 1.5, 11);
  records.results.looks = {{1, true, false, nullptr}, ran(plan, 2, 20)};
  const CriterionResult result = judge(plan, records.results).criteria[0];
  REQUIRE(result.look);
  CHECK(result.look->before == Before{10});
  CHECK(result.look->unread == 1);
}

namespace {

/// Shares of studies of 10 pairs, and of the same with ten more that another run measured in a session of its own.
struct Shares {
  double first = 0, both = 0, kept = 0;  // passes; kept: of the first, those that pass with both
};

Shares mergedPasses(double gain, double apart) {
  const int studies = 500;
  stats::NormalStream noise(3);
  plan::Plan plan = study(10, 0);
  plan.criteria.push_back(criterion({gainCells()[0]}, {Relation::Greater, 1, 0, "> 1x"}, "x", 0.95));
  Shares shares;
  for (int one = 0; one < studies; ++one) {
    Records records;
    bool passes[2] = {};
    for (const int64_t run : {1, 2}) {
      const double offset = apart * noise.next();
      for (int64_t block = 10 * run - 9; block <= 10 * run; ++block)
        for (const char* precision : {"fp64", "fp32"}) {
          const bool treated = precision[2] == '3';
          const double time = std::exp(0.02 * noise.next() - (treated ? std::log(gain) + offset : 0));
          records.timed(id(precision, 1), block, time, run).run = run;
        }
      passes[run - 1] = judge(plan, records.results).criteria[0].verdict == Verdict::Pass;
      records.results.looks.push_back(ran(plan, run, 10));
    }
    shares.first += double(passes[0]) / studies;
    shares.both += double(passes[1]) / studies;
    shares.kept += double(passes[0] && passes[1]) / studies;
  }
  return shares;
}

}  // namespace

TEST_CASE("the verdict of a folder stands when another is merged into it, and is no more often wrong") {
  const Shares at_bound = mergedPasses(1, 0), beyond = mergedPasses(1.025, 0), differ = mergedPasses(1, 0.1);
  CHECK(at_bound.both <= 0.025 + 0.021);  // three standard errors
  CHECK(beyond.first > 0.5);
  CHECK(beyond.both > beyond.first - 0.05);
  CHECK(beyond.kept > 0.9 * beyond.first);
  CHECK(differ.both < differ.first / 2);  // sessions that show that they differ
}

TEST_CASE("a verdict that stands is told with the look that decided it and the interval that did") {
  const plan::Plan plan = claiming(10);
  Records records;
  measureBy(records, 1, 10, 1.25);
  const Judgement first = judge(plan, records.results);
  REQUIRE(word(first.criteria[0].verdict) == "pass");
  records.results.looks = {ran(plan, 1, 10)};
  measureBy(records, 2, 1, 1.1, 11);  // at the level that is left the interval of eleven values holds this one
  const CriterionResult result = judge(plan, records.results).criteria[0];
  CHECK(word(result.verdict) == "pass");
  REQUIRE(result.look);
  CHECK(result.look->decided_at == 10);
  for (const CellEstimate& cell : result.cells) {
    REQUIRE(cell.interval);
    CHECK(cell.interval->low >= 1.2);
    CHECK(cell.confidence == doctest::Approx(0.95));
    CHECK(cell.looks == Before{10});
  }
  // If all values lie elsewhere, the earlier look does not count.
  Records other;
  measureBy(other, 1, 10, 1.25);
  measureBy(other, 2, 30, 1.1, 11);
  other.results.looks = {ran(plan, 1, 10)};
  CHECK(word(judge(plan, other.results).criteria[0].verdict) != "pass");
}

TEST_CASE("claims at their bound pass no more often than asked, by growing, by shrinking, and by both") {
  // Growing: ten more blocks after each verdict. Shrinking: 40 are planned, and at each stop the design is made as
  // small as what is there if that passes.
  const auto share = [](bool grows) {
    std::mt19937_64 random(5);
    std::normal_distribution<double> noise(0, 0.02);
    const int studies = 600;
    int decided = 0;
    plan::Plan plan = study(grows ? 10 : 40, 0);
    plan::Cell cell = gainCells()[0];
    plan.criteria.push_back(criterion({cell}, {Relation::Greater, 1, 0, "> 1x"}, "x", 0.95));
    for (int one = 0; one < studies; ++one) {
      Records records;
      for (const unsigned until : {10u, 20u, 30u, 40u}) {
        const int64_t run = until / 10;
        for (int64_t block = until - 9; block <= until; ++block)
          for (const char* precision : {"fp64", "fp32"})
            records.timed(id(precision, 1), block, std::exp(noise(random))).run = run;
        if (!grows && until < 40) records.results.looks.push_back(ran(plan, run, 40, false));
        plan.design.kinds[0].repeat = plan.design.kinds[0].repeat_most = grows ? 10 : until;
        const Index index(plan, records.results);
        const Verdict verdict =
            decideCriterion(plan.criteria[0], measureCriterion({index, {}}, plan.criteria[0])).verdict;
        if (grows) records.results.looks.push_back(ran(plan, run, 10));
        if (verdict != Verdict::Pass && verdict != Verdict::Fail) continue;
        ++decided;
        break;
      }
    }
    return double(decided) / studies;
  };
  CHECK(share(true) < 0.077);  // 5 % and three standard errors; 13 % without payment
  CHECK(share(false) < 0.077);
}

}  // namespace expc::judge
