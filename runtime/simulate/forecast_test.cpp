
#include "runtime/simulate/forecast.h"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>

#include "runtime/judge/judge.h"
#include "runtime/plan/evaluate.h"
#include "runtime/stats/distributions.h"
#include "tests/support/judge/study.h"

namespace expc::simulate {
namespace {

using namespace judge::test;
using judge::CriterionResult;
using judge::NextStep;
using judge::Verdict;
using Reach = NextStep::Reach;

/// fp64 and fp32 on one card and on two, `repeat` times; how many times as fast fp32 is on each.
plan::Plan gains(unsigned repeat, plan::Bound bound, plan::Claim::Kind kind = plan::Claim::Kind::ForAll,
                 size_t cells = 2) {
  plan::Plan plan = study(repeat, 0);
  std::vector<plan::Cell> all = gainCells();
  all.resize(cells);
  plan.criteria = {criterion(std::move(all), std::move(bound), "x", 0.95, kind)};
  return plan;
}

CriterionResult judged(const plan::Plan& plan, const Records& records) {
  return judge(plan, records.results).criteria[0];
}

/// Judges evenly spread gains against a bound that they leave undecided.
CriterionResult judgedGain(const Records& records, double bound, unsigned repeat = 7) {
  return judged(gains(repeat, atLeast(bound, "the bound")), records);
}

/// One study with `more` blocks: first the advice, then a verdict.
struct Followed {
  unsigned advised = 0, decided = 0, foretold = 0;
};

using DrawBlock = std::function<void(Records&, stats::NormalStream&, int64_t block)>;

/// Follows 100 recommendations, each of a study that `draw` draws the blocks of. The first run says its verdict.
Followed follow(const plan::Plan& plan, unsigned first, unsigned most, const DrawBlock& draw,
                Reach reach = Reach::Decides) {
  Followed followed;
  for (uint64_t seed = 1; followed.advised < 100 && seed < 2000; ++seed) {
    stats::NormalStream stream(seed);
    Records records;
    for (unsigned block = 1; block <= first; ++block) draw(records, stream, block);
    const auto next = judged(plan, records).next;
    if (!next || next->reach != reach || (reach == Reach::Sessions && next->sessions == 0)) continue;
    const unsigned more = reach == Reach::Sessions ? first * next->sessions / 2 - first : next->blocks;
    if (more > most) continue;
    ++followed.advised;
    for (store::Trial& trial : records.results.trials) trial.run = 1;
    const size_t there = records.results.trials.size();
    for (unsigned block = 1; block <= more; ++block) draw(records, stream, first + block);
    for (size_t i = there; i < records.results.trials.size(); ++i) records.results.trials[i].run = 2;
    store::RunClaims said;
    said.planned[TrialKind::Timed] = {first, {}, false};
    for (const plan::Cell& cell : plan.criteria[0].cells) said.subjects.insert(plan::subjectOf(plan, cell));
    records.results.looks = {{1, true, false, std::make_shared<const store::RunClaims>(std::move(said))}};
    plan::Plan larger = plan;
    larger.design.kinds[0].repeat = larger.design.kinds[0].repeat_most = first + more;
    const Verdict verdict = judge::judge(larger, records.results).criteria[0].verdict;
    followed.decided += verdict == Verdict::Pass || verdict == Verdict::Fail;
    followed.foretold += verdict == next->towards;
  }
  return followed;
}

/// Trials of fp64 and fp32 on `gpus` cards, with 2 % of noise each.
void pairOf(Records& records, stats::NormalStream& stream, int gpus, int64_t block, double gain) {
  records.timed(id("fp64", gpus), block, std::exp(0.02 * stream.next()));
  records.timed(id("fp32", gpus), block, std::exp(0.02 * stream.next()) / gain);
}

}  // namespace

TEST_CASE("an undecided verdict says how many blocks decide it, the nearer the bound the more") {
  Records records;
  records.pairs(7, 1.2, 0.01);
  for (store::Trial& trial : records.results.trials) trial.seconds = 2;
  const CriterionResult close = judgedGain(records, 1.194);
  REQUIRE(word(close.verdict) == "inconclusive");
  REQUIRE(close.next);
  REQUIRE(close.next->reach == Reach::Decides);
  CHECK(close.next->blocks > 7);
  CHECK(close.next->repetitions == close.next->blocks + 7);
  CHECK(close.next->further_look);
  CHECK(word(close.next->towards) == "pass");
  // Each block has six points of two seconds.
  CHECK(*close.next->seconds == doctest::Approx(12.0 * close.next->blocks));
  const CriterionResult closer = judgedGain(records, 1.196);
  REQUIRE(closer.next);
  CHECK((closer.next->reach == Reach::OutOfReach || closer.next->blocks > close.next->blocks));
  CHECK_FALSE(judgedGain(records, 1.1).next);
}

TEST_CASE("blocks are out of reach above one number of them, however many are stored") {
  for (const unsigned stored : {7u, 20u}) {
    Records records;
    records.pairs(stored, 1.2, 0.01);
    unsigned most = 0, least = 1'000'000'000;
    for (unsigned i = 0; i < 12; ++i) {
      const auto next = judgedGain(records, 1.1992 - 0.0004 * i).next;
      if (!next || next->blocks == 0) continue;
      if (next->reach == Reach::Decides) most = std::max(most, next->blocks);
      if (next->reach == Reach::OutOfReach) least = std::min(least, next->blocks);
    }
    CHECK(most <= 1000);
    CHECK(least > 900);
  }
}

TEST_CASE("nothing is said of what null cards measured") {
  Records records;
  records.pairs(7, 1.2, 0.01);
  store::Results results = records.results;
  plan::Plan plan = gains(7, atLeast(1.194, "the bound"));
  describe::Conclusions judgement = describe::conclude(plan, results);
  judge::withholdVerdicts(judgement);
  advise(plan, results, judgement);
  CHECK_FALSE(judgement.criteria[0].next);
}

TEST_CASE("what lies on its bound takes many times as many blocks, and says no direction") {
  Records records;
  records.pairs(7, 1.2, 0.01);
  const CriterionResult on = judged(
      gains(7, atLeast(*judgedGain(records, 1.194).cells[0].estimate, "as estimated"), plan::Claim::Kind::ForAll, 1),
      records);
  REQUIRE(on.next);
  CHECK(on.next->blocks > 30 * 7);
  if (on.next->reach == Reach::Decides) CHECK(word(on.next->towards) == "inconclusive");
}

TEST_CASE("one cell that fails decides a claim about all, however near the others lie to their bound") {
  stats::NormalStream stream(1);
  Records both;
  for (int64_t block = 1; block <= 8; ++block)
    for (const int gpus : {1, 2}) pairOf(both, stream, gpus, block, 1.2);
  const CriterionResult any = judged(gains(8, atLeast(1.2, "1.2x")), both);
  const double near = *any.cells[0].estimate, other = *any.cells[1].estimate;
  // The second cell lies below its bound, by less than its interval reaches.
  const double reach = std::log(any.cells[1].interval->high / other);
  for (store::Trial& trial : both.results.trials)
    if (trial.place().point == id("fp64", 2)) trial.metrics["step_time"] *= near / other * std::exp(-0.7 * reach);
  const auto all = judged(gains(8, atLeast(near, "near")), both);
  const auto alone = judged(gains(8, atLeast(near, "near"), plan::Claim::Kind::ForAll, 1), both);
  REQUIRE(word(all.verdict) == "inconclusive");
  REQUIRE(all.next);
  REQUIRE(alone.next);
  CHECK(all.next->reach == Reach::Decides);
  CHECK(word(all.next->towards) == "fail");
  CHECK(all.next->blocks < alone.next->blocks);
}

TEST_CASE("a diagnosis decides 80 % of studies with the blocks that a next step names for its estimate") {
  const plan::Plan plan = gains(6, {plan::Relation::Greater, 1, 0, "> 1x"}, plan::Claim::Kind::ForAll, 1);
  double decided = 0, steps = 0;
  for (uint64_t seed = 1; steps < 8; ++seed) {
    stats::NormalStream stream(seed);
    Records records;
    for (int64_t block = 1; block <= 6; ++block) pairOf(records, stream, 1, block, 1.02);
    const auto next = judged(plan, records).next;
    if (!next || next->reach != Reach::Decides || next->blocks > 400) continue;
    REQUIRE(next->at_estimate > 0);
    CHECK(next->at_estimate < next->blocks);
    plan::Plan larger = plan;
    larger.design.kinds[0].repeat = larger.design.kinds[0].repeat_most = 6 + next->at_estimate;
    Diagnosis diagnosis = diagnose(larger, modelOf(plan, records.results, {}), {.studies = 200, .larger = false});
    const Chances& chances = *diagnosis.design.criteria[0].chances;
    decided += chances.pass + chances.fail;
    ++steps;
    advise(plan, records.results, diagnosis);
    CHECK(diagnosis.design.criteria[0].next->blocks == next->blocks);
  }
  MESSAGE("decided: ", decided / steps);
  CHECK(decided / steps == doctest::Approx(kPower).epsilon(0.1));
}

TEST_CASE("too few pairs for an interval take as many as one needs") {
  Records few;
  few.pairs(4, 1.2);
  const CriterionResult result = judgedGain(few, 1.1);
  CHECK(word(result.verdict) == "inconclusive");
  REQUIRE(result.next);
  CHECK(result.next->reach == Reach::Intervals);
  CHECK(result.next->blocks == 2);
  CHECK(result.next->repetitions == 7);  // as planned
  CHECK_FALSE(result.next->further_look);
}

TEST_CASE("blocks that the design still has are no further look, and are advised where they are enough") {
  Records records;
  records.pairs(7, 1.2, 0.01);
  const CriterionResult over = judgedGain(records, 1.194), within = judgedGain(records, 1.194, 200);
  REQUIRE(over.next);
  REQUIRE(within.next);
  CHECK(within.next->blocks == 193);
  CHECK(within.next->repetitions == 200);
  CHECK_FALSE(within.next->further_look);
}

TEST_CASE("no blocks are advised while values of the one point drift") {
  stats::NormalStream stream(2);
  Records records;
  for (int64_t block = 1; block <= 12; ++block)
    for (const int gpus : {1, 2})
      for (const char* precision : {"fp64", "fp32", "bf16"})
        records.timed(id(precision, gpus), block, (1 + 0.003 * double(block)) * std::exp(0.001 * stream.next()));
  plan::Plan plan = study(12, 0);
  plan.criteria = {criterion({metricCells(plan, "step_time").front()}, atMost(1.02, "1.02s"), "s", 0.95)};
  const auto next = judged(plan, records).next;
  REQUIRE(next);
  CHECK(next->reach == Reach::Trend);
  // Pairs do not see it.
  plan.criteria = gains(12, atLeast(1.0, "1x")).criteria;
  const auto of_pairs = judged(plan, records).next;
  if (of_pairs) CHECK(of_pairs->reach != Reach::Trend);
}

TEST_CASE("who follows the advice gets a verdict in 70 of 100 studies at least") {
  const auto ratio = [](double gain) {
    return
        [=](Records& records, stats::NormalStream& stream, int64_t block) { pairOf(records, stream, 1, block, gain); };
  };
  const plan::Bound bound{plan::Relation::Greater, 1, 0, "> 1x"};
  using Kind = plan::Claim::Kind;
  unsigned rows = 0, decided = 0;
  const auto check = [&](const std::string& what, const Followed& followed) {
    CAPTURE(what);
    CHECK(followed.advised == 100);
    CHECK(followed.decided >= 65);  // of one row the share has a standard error of 4
    ++rows, decided += followed.decided;
    MESSAGE(what, ": ", followed.decided, " of ", followed.advised, " decided, ", followed.foretold, " as foretold");
  };
  check("a ratio of 1.01, 10 pairs", follow(gains(10, bound, Kind::ForAll, 1), 10, 700, ratio(1.01)));
  check("a ratio of 0.985, 8 pairs", follow(gains(8, bound, Kind::ForAll, 1), 8, 700, ratio(0.985)));
  const auto two = [](double first, double second) {
    return [=](Records& records, stats::NormalStream& stream, int64_t block) {
      pairOf(records, stream, 1, block, first);
      pairOf(records, stream, 2, block, second);
    };
  };
  check("all of 1.02 and 0.99, 8 pairs", follow(gains(8, bound), 8, 700, two(1.02, 0.99)));
  check("all of 1.02 and 1.01, 8 pairs", follow(gains(8, bound), 8, 700, two(1.02, 1.01)));
  check("one of 0.99 and 1.01, 8 pairs", follow(gains(8, bound, Kind::Exists), 8, 700, two(0.99, 1.01)));
  // Two sessions of six pairs each; an arm is faster in one and slower in the other.
  double offset = 0;
  check("2 sessions that differ by 3 %, a ratio of 1.05",
        follow(
            gains(12, bound, Kind::ForAll, 1), 12, 700,
            [&](Records& records, auto& stream, int64_t block) {
              if (block % 6 == 1) offset = 0.03 * stream.next();
              const int64_t session = (block + 5) / 6;
              records.timed(id("fp64", 1), block, std::exp(0.02 * stream.next()), session);
              records.timed(id("fp32", 1), block, std::exp(0.02 * stream.next() + offset) / 1.05, session);
            },
            Reach::Sessions));
  plan::Plan level = study(12, 0);
  level.criteria = {criterion({metricCells(level, "step_time").front()}, atMost(1, "1s"), "s", 0.95)};
  check("a median of 0.99, 12 trials", follow(level, 12, 700, [](Records& records, auto& stream, int64_t block) {
          records.timed(id("fp64", 1), block, 0.99 * std::exp(0.02 * stream.next()));
        }));
  CHECK(decided >= 70 * rows);
}

}  // namespace expc::simulate
