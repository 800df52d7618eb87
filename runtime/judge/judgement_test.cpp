#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "runtime/judge/judge.h"
#include "runtime/judge/results.h"
#include "runtime/stats/distributions.h"
#include "tests/support/judge/study.h"

namespace expc::judge {

using namespace test;
using Kind = plan::Claim::Kind;

TEST_CASE("summaries, statuses and comparisons") {
  plan::Plan plan = study();
  plan.comparisons.push_back({"gain", "", "precision", "x", {"precision", "gpus"}, gainCells(), 0, ""});
  Records records;
  records.pairs(7, 1.5);
  records.add("fp64-1", TrialKind::Timed, 8, TrialStatus::Timeout).reason = "no event for 60 s";
  records.add("bf16-1", TrialKind::Timed, 1, TrialStatus::Failed).reason = "rank 0 exited with 1";
  const Judgement judgement = judge(plan, records.results);
  const Summary* summary = judgement.find("fp64-1", "step_time");
  REQUIRE(summary);
  CHECK(summary->n == 8);
  CHECK(summary->timeouts == 1);
  CHECK(summary->values.size() == 7);
  CHECK(summary->values[0] == doctest::Approx(0.1));
  CHECK(summary->values[1] == doctest::Approx(0.1 * (1 + 0.2 * 2)));
  CHECK(summary->minimum == doctest::Approx(0.1));
  CHECK(summary->maximum == doctest::Approx(0.18));
  CHECK(std::isinf(summary->interval->high));
  CHECK(judgement.find("fp64-1", "accuracy") == nullptr);
  CHECK(judgement.comparisons[0].cells[1].cell == 1);
  CHECK(*judgement.comparisons[0].cells[0].estimate == doctest::Approx(1.5).epsilon(0.01));
  const auto status = [&](const std::string& point, TrialKind kind) {
    return *std::ranges::find_if(judgement.points,
                                 [&](const PointStatus& entry) { return entry.point == point && entry.kind == kind; });
  };
  CHECK(status("fp64-1", TrialKind::Timed).valid == 7);
  CHECK(status("fp64-1", TrialKind::Timed).timeouts == 1);
  CHECK(status("fp64-1", TrialKind::Timed).planned == 7);
  CHECK(status("fp64-1", TrialKind::Quality).planned == 1);
  CHECK(status("bf16-1", TrialKind::Timed).failed == 1);
  CHECK(status("bf16-1", TrialKind::Timed).last_reason == "rank 0 exited with 1");
}

TEST_CASE("a retry that ends well counts once") {
  Records records;
  records.pairs(7, 1.5);
  records.add("fp32-1", TrialKind::Timed, 8, TrialStatus::Failed);
  records.timed("fp64-1", 8, 0.1);
  store::Trial& retry = records.timed("fp32-1", 8, 0.1 / 1.5);
  retry.attempt = 2;
  records.results.trials.push_back(records.results.trials.back());  // the same record twice
  const CriterionResult result = judgedGain(records, 1.2, "1.2x");
  CHECK(result.cells[0].scope.complete == 8);
  CHECK(result.cells[0].scope.lost == 0);
}

TEST_CASE("the order of the records changes nothing") {
  plan::Plan plan = study(8, 1);
  plan.criteria.push_back(criterion(gainCells(), atLeast(1.2, "1.2x"), "x", 0.95));
  plan.criteria.push_back(criterion(metricCells(plan, "accuracy"), atLeast(0.9, "90 %"), "", std::nullopt));
  plan.comparisons.push_back({"gain", "", "precision", "x", {"precision", "gpus"}, gainCells(), 0, ""});
  Records records;
  records.pairs(8, 1.22, 0.03);
  for (const plan::Point& point : plan.points) records.accuracy(point.id, 1, 0.93);
  records.add("fp32-1", TrialKind::Timed, 9, TrialStatus::Failed).reason = "one";
  records.add("fp32-1", TrialKind::Timed, 10, TrialStatus::Timeout).reason = "two";
  records.timed("fp64-1", 10, 0.1);
  records.add("fp32-2", TrialKind::Timed, 9, TrialStatus::Infeasible).reason = "three";
  const auto told = [](const plan::Why& why) {
    return why ? std::to_string(int(why->code)) + why->said : std::string();
  };
  const auto text = [&](const Judgement& judgement) {
    std::string all;
    for (const CriterionResult& criterion : judgement.criteria) {
      all += std::string(toString(criterion.verdict)) + told(criterion.why) + std::to_string(criterion.scope.lost);
      for (const CellEstimate& cell : criterion.cells) {
        all += told(cell.why) + std::to_string(cell.estimate.value_or(-1)) + std::to_string(cell.scope.complete);
        for (const double value : cell.values) all += " " + std::to_string(value);
      }
    }
    for (const Summary& summary : judgement.summaries) {
      for (const double value : summary.values) all += " " + std::to_string(value);
      all += std::to_string(summary.median.value_or(NAN));
    }
    for (const PointStatus& status : judgement.points) all += status.last_reason + std::to_string(status.valid);
    for (const CellEstimate& cell : judgement.comparisons[0].cells) all += std::to_string(*cell.estimate);
    return all;
  };
  const std::string expected = text(judge(plan, records.results));
  std::mt19937 shuffle(5);
  for (int i = 0; i < 20; ++i) {
    std::shuffle(records.results.trials.begin(), records.results.trials.end(), shuffle);
    CHECK(text(judge(plan, records.results)) == expected);
  }
}

TEST_CASE("exit codes") {
  const auto code = [](std::vector<Verdict> verdicts, unsigned valid, unsigned failed = 0) {
    Judgement judgement;
    judgement.points.push_back({{.valid = valid, .failed = failed, .ended = valid}, "p", TrialKind::Timed, 7});
    for (const Verdict verdict : verdicts) {
      CriterionResult result;
      result.verdict = verdict;
      judgement.criteria.push_back(result);
    }
    return exitCode(judgement);
  };
  CHECK(code({Verdict::Pass, Verdict::Pass}, 7) == 0);
  CHECK(code({Verdict::Pass, Verdict::NotAsked}, 7) == 0);
  CHECK(code({Verdict::NotAsked, Verdict::NotAsked}, 7) == 4);
  CHECK(code({Verdict::Pass, Verdict::Fail, Verdict::Inconclusive}, 7) == 3);
  CHECK(code({Verdict::Infeasible}, 7) == 3);
  CHECK(code({Verdict::Pass, Verdict::Inconclusive}, 7) == 4);
  CHECK(code({Verdict::Pass, Verdict::NotRun}, 7) == 4);
  CHECK(code({Verdict::NotRun}, 0) == 5);
  CHECK(code({Verdict::Inconclusive}, 0, 3) == 4);
  CHECK(code({}, 7) == 0);
  CHECK(code({}, 0, 3) == 5);
}

TEST_CASE("a claim at its boundary passes or fails wrongly no more often than promised") {
  constexpr unsigned kStudies = 1000;
  plan::Plan plan = study(8, 0);
  plan.criteria.push_back(criterion(gainCells(), atLeast(1.2, "1.2x"), "x", 0.95));
  plan.criteria.push_back(criterion(gainCells(), atLeast(1.2, "1.2x"), "x", 0.95, Kind::Exists));
  stats::NormalStream noise(11);
  unsigned passes = 0, fails = 0, exists_passes = 0;
  for (unsigned i = 0; i < kStudies; ++i) {
    Records records;
    for (int64_t block = 1; block <= 8; ++block) {
      const double drift = std::exp(0.3 * noise.next());
      for (const int gpus : {1, 2}) {
        records.timed(id("fp64", gpus), block, drift * std::exp(0.02 * noise.next()));
        records.timed(id("fp32", gpus), block, drift / 1.2 * std::exp(0.02 * noise.next()));
      }
    }
    const Judgement judgement = judge(plan, records.results);
    passes += judgement.criteria[0].verdict == Verdict::Pass;
    fails += judgement.criteria[0].verdict == Verdict::Fail;
    exists_passes += judgement.criteria[1].verdict == Verdict::Pass;
  }
  const double limit = kStudies * 0.05 + 4 * std::sqrt(kStudies * 0.05 * 0.95);
  CHECK(passes <= limit);
  CHECK(fails <= limit);
  CHECK(exists_passes <= limit);
  CHECK(fails > 0);  // the level is there to be used
}

}  // namespace expc::judge
