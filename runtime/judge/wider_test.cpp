// Tests what makes intervals wider than the scatter of values: sessions, serial correlation, steps of a clock.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "runtime/stats/distributions.h"
#include "runtime/stats/estimators.h"
#include "tests/support/judge/study.h"

namespace expc::judge {

using namespace test;

namespace {

/// fp64 and fp32 take as long, in sessions of four blocks that move each of them by `apart` on its own.
Records bySession(unsigned sessions, double apart, uint64_t seed) {
  Records records;
  stats::NormalStream noise(seed);
  for (unsigned session = 1; session <= sessions; ++session) {
    std::map<std::string, double> place;
    for (const char* precision : {"fp64", "fp32"})
      for (const int gpus : {1, 2}) place[id(precision, gpus)] = apart * noise.next();
    for (unsigned i = 0; i < 4; ++i)
      for (const auto& [point, moved] : place)
        records.timed(point, 4 * session + i, 0.1 * std::exp(moved + 0.01 * noise.next()), session);
  }
  return records;
}

/// One point, each trial's deviation `carry` times the one before and something new.
Records correlated(unsigned trials, double carry, uint64_t seed, double scatter = 0.02) {
  Records records;
  stats::NormalStream noise(seed);
  double at = noise.next();
  for (unsigned block = 1; block <= trials; ++block) {
    records.timed(id("fp32", 1), block, 0.1 * std::exp(scatter * at));
    at = carry * at + std::sqrt(1 - carry * carry) * noise.next();
  }
  return records;
}

CriterionResult judgedLevel(const Records& records, double bound) {
  const plan::Plan plan = study(unsigned(records.results.trials.size()), 0);
  auto cells = metricCells(plan, "step_time");
  std::erase_if(cells, [](const plan::Cell& cell) { return cell.points[0].point != id("fp32", 1); });
  return judged(plan, criterion(cells, atMost(bound, "bound"), "s", 0.95), records);
}

}  // namespace

TEST_CASE("sessions that move each arm on its own are in the interval from two on") {
  unsigned covered = 0, without = 0;
  constexpr unsigned kStudies = 200;
  for (unsigned seed = 1; seed <= kStudies; ++seed) {
    const CriterionResult result = judgedGain(bySession(3, 0.02, seed), 1, "1x");
    const CellEstimate& cell = result.cells[0];
    covered += cell.interval->low <= 1 && 1 <= cell.interval->high;
    const auto alone = stats::signedRank(cell.values).interval(0.95);
    without += alone->low <= 1 && 1 <= alone->high;
    REQUIRE(cell.spreads);
    CHECK(cell.spreads->sessions == 3);
  }
  CHECK(covered >= 0.92 * kStudies);
  CHECK(without < 0.8 * kStudies);
}

TEST_CASE("one point is judged and covered whatever the correlation of its trials") {
  constexpr unsigned kStudies = 1000;
  // Promises by true correlation: the least share that is judged, and the largest share of those that misses.
  struct Promise {
    double carry, judged, wrong;
  };
  for (const unsigned trials : {6u, 10u, 20u})
    for (const Promise& promise : {Promise{0, 0.97, 0.06}, {0.5, 0.9, 0.09}, {0.8, 0.75, 0.1}}) {
      CAPTURE(trials);
      CAPTURE(promise.carry);
      unsigned wrong = 0, judged = 0;
      for (unsigned seed = 1; seed <= kStudies; ++seed) {
        const CellEstimate cell = judgedLevel(correlated(trials, promise.carry, seed), 0.1).cells[0];
        judged += cell.interval.has_value();
        wrong += cell.interval && (cell.interval->low > 0.1 || cell.interval->high < 0.1);
        if (!cell.interval) CHECK(is(cell.why, Reason::Trend));
        CHECK(cell.worth <= trials);
      }
      CHECK(judged >= promise.judged * kStudies);
      CHECK(wrong <= promise.wrong * judged);
    }
}

TEST_CASE("intervals of noisy times do not reach zero, and hold the true median as often as those of quiet ones") {
  for (const unsigned trials : {6u, 20u})
    for (const double carry : {0.0, 0.8}) {
      CAPTURE(trials);
      CAPTURE(carry);
      unsigned wrong = 0, judged = 0;
      for (unsigned seed = 1; seed <= 500; ++seed) {
        const CellEstimate cell = judgedLevel(correlated(trials, carry, seed, 0.6), 0.1).cells[0];
        if (!cell.interval) continue;
        ++judged;
        CHECK(cell.interval->low > 0);
        wrong += cell.interval->low > 0.1 || cell.interval->high < 0.1;
      }
      CHECK(wrong <= 0.1 * judged);
    }
}

TEST_CASE("pairs whose arms are correlated with themselves have wide intervals, over all cells of a comparison") {
  Records records;
  stats::NormalStream noise(1);
  std::map<std::string, double> at;
  for (int64_t block = 1; block <= 20; ++block)
    for (const char* precision : {"fp64", "fp32"})
      for (const int gpus : {1, 2}) {
        double& own = at.try_emplace(id(precision, gpus), noise.next()).first->second;
        own = 0.9 * own + std::sqrt(0.19) * noise.next();
        records.timed(id(precision, gpus), block, 0.1 * std::exp(0.02 * own));
      }
  const CriterionResult result = judgedGain(records, 1, "1x");
  CHECK(result.cells[0].correlation > 0.5);
  CHECK(result.cells[0].correlation == result.cells[1].correlation);
  for (const CellEstimate& cell : result.cells) {
    if (!cell.interval) continue;
    const auto alone = stats::signedRank(cell.values).interval(0.95);
    CHECK(cell.interval->high - cell.interval->low > 1.5 * (alone->high - alone->low));
  }
}

TEST_CASE("the correlation of pairs is that of their own metric, also if another is compared at the same points") {
  Records records;
  stats::NormalStream noise(1);
  for (int64_t block = 1; block <= 20; ++block)
    for (const char* precision : {"fp64", "fp32"})
      for (const int gpus : {1, 2})
        records.timed(id(precision, gpus), block, 0.1 * std::exp(0.02 * noise.next())).metrics["images_per_s"] =
            std::exp(precision[2] == '3' ? 0.01 * double(block) : 0);
  plan::Plan plan = study(20, 0);
  std::vector<plan::Cell> rates = gainCells();
  for (plan::Cell& cell : rates)
    cell.term =
        term(plan::OperationTerm{plan::OperationTerm::Op::Ratio,
                                 {metric("images_per_s", cell.points[0]), metric("images_per_s", cell.points[1])}});
  plan.comparisons.resize(2);
  plan.comparisons[0].cells = gainCells();
  plan.comparisons[1].cells = rates;
  const Judgement judgement = judge(plan, records.results);
  CHECK(judgement.comparisons[0].cells[0].correlation < 0.5);
  CHECK(judgement.comparisons[1].cells[0].correlation > 0.5);
}

TEST_CASE("a point whose values rise all the time has no interval, in its table as in its claims") {
  Records records;
  stats::NormalStream noise(1);
  for (int64_t block = 1; block <= 10; ++block)
    records.timed(id("fp32", 1), block, 0.1 * std::exp(0.01 * double(block) + 0.002 * noise.next()));
  const CellEstimate cell = judgedLevel(records, 0.1).cells[0];
  CHECK_FALSE(cell.interval);
  CHECK(is(cell.why, Reason::Trend));
  const Judgement judgement = judge(study(10, 0), records.results);
  const Summary* summary = judgement.find(id("fp32", 1), "step_time");
  REQUIRE(summary);
  CHECK_FALSE(summary->interval);
  CHECK(summary->trend > 0.9);
}

TEST_CASE("two sessions of pairs give the interval of one unless they show that they differ") {
  const auto of = [](double apart) {
    Records records;
    stats::NormalStream noise(2);
    for (int64_t block = 1; block <= 12; ++block)
      for (const char* precision : {"fp64", "fp32"})
        for (const int gpus : {1, 2})
          records.timed(id(precision, gpus), block,
                        0.1 * std::exp(0.01 * noise.next() + (block > 6 && precision[2] == '3' ? apart : 0)),
                        block > 6 ? 2 : 1);
    return judgedGain(records, 1, "1x").cells[0];
  };
  const CellEstimate apart = of(0.05), alike = of(0.004);
  CHECK_FALSE(apart.interval);
  REQUIRE(is(apart.why, Reason::SessionsApart));
  CHECK(origin(*apart.why).numbers[0] == 2);
  CHECK(origin(*apart.why).numbers[1] >= 3);
  CHECK(apart.spreads->apart);
  REQUIRE(alike.interval);
  CHECK_FALSE(alike.spreads->apart);
  CHECK(alike.spreads->stretch >= 1);
  CHECK(alike.spreads->stretch < 2.3);
  // About as wide as what all values give in one session.
  const auto within = stats::signedRank(alike.values).interval(0.95);
  CHECK(alike.interval->high / alike.interval->low < std::pow(within->high / within->low, 2.3));
}

TEST_CASE("readings of few values are as wide as the step between them") {
  // 100 and 104 ms by a clock of 10 ms.
  Records records;
  for (int64_t block = 1; block <= 10; ++block)
    for (const int gpus : {1, 2})
      for (const char* precision : {"fp64", "fp32"})
        records.timed(id(precision, gpus), block, gpus == 2 && block % 5 == 0 ? 0.11 : 0.1);
  const CriterionResult result = judgedGain(records, 0.99, "0.99x");
  CHECK(word(result.verdict) == "inconclusive");
  // Of one reading nothing says that the clock does not have steps as large as it.
  CHECK(result.cells[0].interval->low == doctest::Approx(0.5));
  REQUIRE(result.cells[0].steps);
  CHECK(result.cells[0].steps->readings == 1);
  CHECK(result.cells[1].interval->high == doctest::Approx(1.1).epsilon(0.02));
  REQUIRE(result.cells[1].steps);
  CHECK(result.cells[1].steps->metric == "step_time");
  CHECK(result.cells[1].steps->readings == 2);
  CHECK(result.cells[1].steps->size == doctest::Approx(0.01));
  // Within a step more blocks tell nothing.
  CHECK_FALSE(result.next);
  // Where each point gave one reading, their distance is what is asked about: the digits tell the step.
  Records constant;
  for (int64_t block = 1; block <= 10; ++block)
    for (const int gpus : {1, 2})
      for (const char* precision : {"fp64", "fp32"})
        constant.timed(id(precision, gpus), block, std::string(precision) == "fp64" ? 0.12 : 0.105);
  const CriterionResult told = judgedGain(constant, 1.05, "1.05x");
  CHECK(word(told.verdict) == "pass");
  REQUIRE(told.cells[0].steps);
  CHECK(told.cells[0].steps->readings == 1);
  CHECK(told.cells[0].steps->size == doctest::Approx(0.001));
  Records noisy;
  noisy.pairs(10, 1.2);
  CHECK_FALSE(judgedGain(noisy, 1.1, "1.1x").cells[0].steps);
}

TEST_CASE("a fine clock of one point tells nothing of the coarse one of another") {
  // 10.4 s with digits to spare against 10.7 s in whole seconds.
  const auto against = [](const std::vector<double>& coarse) {
    Records records;
    for (int64_t block = 1; block <= int64_t(coarse.size()); ++block)
      for (const int gpus : {1, 2}) {
        records.timed(id("fp64", gpus), block, 10.39 + 0.0013 * double(block * 7 % 20));
        records.timed(id("fp32", gpus), block, coarse[size_t(block - 1)]);
      }
    return judgedGain(records, 1, "1x");
  };
  std::vector<double> readings(20, 10);
  readings[13] = 11;
  const CriterionResult two = against(readings);
  CHECK(word(two.verdict) == "inconclusive");
  CHECK(two.cells[0].steps->readings == 2);
  CHECK(two.cells[0].steps->size == doctest::Approx(1));
  // Of 10 s each time no digit tells that the step is not as large.
  const CriterionResult one = against(std::vector<double>(20, 10));
  CHECK(word(one.verdict) == "inconclusive");
  CHECK(one.cells[0].steps->readings == 1);
  CHECK(one.cells[0].steps->size == doctest::Approx(10));
  CHECK(against(std::vector<double>(20, 10.012)).cells[0].steps->size == doctest::Approx(0.001).epsilon(0.01));
}

TEST_CASE("no interval goes below zero, where no value does and no claim asks about less") {
  Records records;
  for (int64_t block = 1; block <= 10; ++block) records.timed(id("fp32", 1), block, block % 3 ? 0 : 0.01);
  plan::Plan plan = study(10, 0);
  plan.workloads.emplace_back().command.emplace().metrics.push_back({"step_time"});  // which a program prints
  auto cells = metricCells(plan, "step_time");
  std::erase_if(cells, [](const plan::Cell& cell) { return cell.points[0].point != id("fp32", 1); });
  const auto result = [&](double bound) {
    return judged(plan, criterion(cells, atMost(bound, "it"), "s", 0.95), records).cells[0];
  };
  CHECK(result(1).interval->low == 0);
  CHECK(result(1).interval->high == 0.01);
  // Zero decides these, so the interval is what the values give.
  for (const double bound : {0.0, -0.005}) {
    CHECK(result(bound).interval->low == -0.01);
    CHECK(word(result(bound).verdict) == "inconclusive");
  }
  records.timed(id("fp64", 1), 1, -0.001);
  CHECK(result(1).interval->low == -0.01);
}

TEST_CASE("neither does that of a table, where correlated values make it wider than they are, nor a share beyond 1") {
  Records records;
  for (int64_t block = 1; block <= 16; ++block) {
    records.timed(id("fp32", 1), block, block / 4 % 2 ? 0.01 : 0.001);
    records.accuracy(id("fp32", 1), block, block / 4 % 2 ? 0.99 : 0.9);
  }
  const plan::Plan plan = study(16, 16);
  const Judgement judgement = judge(plan, records.results);
  CHECK(judgement.find(id("fp32", 1), "step_time")->interval->low > 0);
  CHECK(judgement.find(id("fp32", 1), "accuracy")->interval->high == 1);
}

TEST_CASE("values of several sessions scatter twice: inside and between") {
  Records records;
  for (int64_t session = 1; session <= 3; ++session)
    for (int64_t i = 0; i < 2; ++i) records.timed(id("fp32", 1), 2 * session + i, 0.1 * session + 0.002 * i, session);
  const plan::Plan plan = study();
  const Judgement judgement = judge(plan, records.results);
  const Summary* summary = judgement.find(id("fp32", 1), "step_time");
  REQUIRE(summary);
  REQUIRE(summary->spreads);
  CHECK(summary->spreads->within == doctest::Approx(0.002 / std::sqrt(2.0)));
  CHECK(summary->spreads->between == doctest::Approx(0.1));
  CHECK(summary->spreads->sessions == 3);
  const CriterionResult result =
      judged(plan, criterion(metricCells(plan, "step_time"), atMost(1, "1s"), "s", 0.95), records);
  CHECK(std::ranges::count_if(result.cells, [](const auto& cell) { return bool(cell.spreads); }) == 1);
  Records one;
  one.pairs(7, 1.2);
  CHECK_FALSE(judge(plan, one.results).find(id("fp32", 1), "step_time")->spreads);
}

}  // namespace expc::judge
