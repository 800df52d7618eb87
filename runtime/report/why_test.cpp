#include <doctest/doctest.h>

#include "runtime/base/json.h"
#include "runtime/describe/description.h"
#include "runtime/judge/judge.h"
#include "runtime/report/reasons.h"
#include "runtime/report/records_json.h"
#include "runtime/report/verdict_text.h"
#include "tests/support/judge/study.h"
#include "tests/support/text/has.h"

namespace expc::report {
namespace {

using namespace judge::test;
using Kind = plan::Claim::Kind;

/// The text about one criterion and about its cells.
struct Line {
  std::string text;
  std::vector<std::string> cells;
};
Line lineOf(plan::Plan plan, plan::Criterion criterion, const Records& records) {
  plan.criteria.push_back(std::move(criterion));
  const judge::CriterionResult result = judge::judge(plan, records.results).criteria.back();
  Line line{whyText({plan, plan.criteria.back(), result}), {}};
  for (const judge::CellEstimate& cell : result.cells)
    line.cells.push_back(whyText(plan, plan.criteria.back(), cell).text);
  return line;
}
Line lineOfGain(const Records& records, double bound, std::string text, Kind kind = Kind::ForAll) {
  return lineOf(study(), criterion(gainCells(), atLeast(bound, std::move(text)), "x", 0.95, kind), records);
}

using expc::test::has;

}  // namespace

TEST_CASE("an interval that an earlier look cut names the looks") {
  plan::Plan plan = study();
  plan.criteria.push_back(criterion(gainCells(), atLeast(1.2, "1.2x"), "x", 0.95));
  Records records;
  records.pairs(7, 1.2);
  judge::CriterionResult result = judge::judge(plan, records.results).criteria.back();
  result.look = judge::Look{{5}, 7, 7, 0.999};
  result.cells[0].looks = {5};
  const std::string line = whyText({plan, plan.criteria.back(), result});
  CHECK_MESSAGE(line.ends_with(" includes the bound 1.2x (interval common to the looks after 5 and 7)"), line);
}

TEST_CASE("the line of a claim on intervals names the cell that tells most") {
  const auto at = [](double gain, double bound, const char* text, Kind kind = Kind::ForAll) {
    Records records;
    records.pairs(7, gain);
    return lineOfGain(records, bound, text, kind);
  };
  const Line passes = at(1.5, 1.2, "1.2x");
  CHECK(
      passes.text ==
      "at least 1.2x in both configurations at 95 % confidence; closest to the bound: 1.50x [1.49x, 1.51x] at gpus=1");
  CHECK(passes.cells[0].empty());
  const Line fails = at(1.1, 1.2, "1.2x");
  CHECK(fails.text.starts_with("below 1.2x in both configurations (Holm-corrected); farthest from the bound: 1.1"));
  CHECK(fails.cells[1] == "below 1.2x");
  const Line open = at(1.2, 1.2, "1.2x");
  CHECK(open.text.starts_with("undecided in both configurations; gpus=1: 1."));
  CHECK(has(open.text, "] includes the bound 1.2x"));
  CHECK(open.cells[0] == "includes the bound 1.2x");
  CHECK(at(1.5, 2, "2x", Kind::Exists).text.starts_with("at least 2x in none of 2 configurations; closest is 1.50x ["));
  Records records;
  records.pairs(7, 1.0);
  CHECK(
      lineOf(study(), criterion(gainCells(), {Relation::Within, 0.96, 1.04, "within 0.96x..1.04x"}, "x", 0.95), records)
          .text ==
      "between 0.96x and 1.04x in both configurations at 95 % confidence; closest to a limit: 1.00x [0.99x, 1.01x] at "
      "gpus=1");
}

TEST_CASE("the cell whose interval ends closest to the bound is named, whatever its estimate") {
  Records records;
  for (int64_t block = 1; block <= 7; ++block) {
    // All readings differ, as those of a fine clock do.
    for (const int gpus : {1, 2}) records.timed(id("fp64", gpus), block, 0.1 + 1e-7 * double(block));
    records.timed(id("fp32", 1), block, 0.1 / (1.3 + 0.001 * double(block * 3 % 7 - 3)));
    records.timed(id("fp32", 2), block, 0.1 / (1.45 + 0.1 * double(block * 3 % 7 - 3)));
  }
  const std::string text = lineOfGain(records, 1.1, "1.1x").text;
  CHECK(text.starts_with("at least 1.1x in both configurations at 95 % confidence; closest to the bound: 1.4"));
}

TEST_CASE("a cell that Holm leaves open says what its own interval would decide") {
  Records six;
  six.pairs(6, 1.5);
  CHECK(
      lineOf(study(6), criterion(gainCells(), atLeast(2, "2x"), "x", 0.95), six).cells[0] ==
      "only 6 pairs; a 97.5 % interval needs 7, after Holm's correction for 2 configurations; uncorrected it is 1.50x "
      "[1.48x, 1.52x]");
  Records nine;
  nine.pairs(9, 1.5);
  const double end = judgedGain(nine, 1, "1x").cells[0].interval->high * 1.0001;
  const std::string text = lineOfGain(nine, end, "the end").text;
  CHECK(
      has(text,
          " (97.5 % interval) includes the bound the end after Holm's correction for 2 configurations; uncorrected it "
          "is 1.5"));
}

TEST_CASE("an exists says where it holds") {
  Records records;
  records.pairs(7, 1.5);
  for (store::Trial& trial : records.results.trials)
    if (trial.key->place.point == "fp32-2") trial.metrics["step_time"] *= 2;
  CHECK(lineOfGain(records, 1.2, "1.2x", Kind::Exists).text ==
        "holds at gpus=1: 1.50x [1.48x, 1.52x] (97.5 % interval), at least 1.2x (1 of 2; one is enough; "
        "Holm-corrected)");
  // A part of several cells is named by the labels that these share.
  Records both;
  both.pairs(8, 1.5);
  both.pairs(8, 0.8, 0.01, "bf16");
  auto cells = gainCells();
  for (plan::Cell& cell : gainCells("bf16")) cells.push_back(cell);
  auto claim = criterion(cells, atLeast(1.2, "1.2x"), "x", 0.95);
  const auto leaf = [](unsigned cell) { return plan::Claim{Kind::Cell, {}, cell}; };
  claim.claim = {Kind::Exists, {{Kind::ForAll, {leaf(0), leaf(1)}, 0}, {Kind::ForAll, {leaf(2), leaf(3)}, 0}}, 0};
  CHECK(
      lineOf(study(8), claim, both).text.starts_with("holds at precision=fp32, least clearly at precision=fp32 gpus="));
  claim.claim = {Kind::ForAll, {{Kind::Exists, {leaf(0), leaf(2)}, 0}, {Kind::Exists, {leaf(1), leaf(3)}, 0}}, 0};
  CHECK(lineOf(study(8), claim, both)
            .text.starts_with(
                "at least 1.2x in 2 of 4 configurations, which is enough, at 95 % confidence; closest to the bound: "));
}

TEST_CASE("what is lacking is said with what became of it") {
  Records records;
  records.pairs(4, 1.5);
  for (int64_t block = 5; block <= 7; ++block)
    for (const int gpus : {1, 2}) {
      records.timed(id("fp64", gpus), block, 0.1);
      records.add(id("fp32", gpus), TrialKind::Timed, block, TrialStatus::Failed).reason =
          "rank 1 died with signal 9\ntrace";
    }
  const Line few = lineOfGain(records, 1.2, "1.2x");
  CHECK(few.cells[0] ==
        "only 4 pairs; a 95 % interval needs 6 (precision=fp32 gpus=1 failed: rank 1 died with signal 9)");
  CHECK(has(few.text, " (4 of 7 pairs measured so far)"));
  Records apart;
  apart.pairs(6, 1.5);
  for (store::Trial& trial : apart.results.trials)
    if (trial.key->place.point == "fp32-1" && trial.block == 6) trial.session = 2;
  CHECK(has(lineOfGain(apart, 1.2, "1.2x").cells[0],
            "precision=fp64 gpus=1 never ran in the same block and session, so there is no pair"));
  CHECK(lineOfGain({}, 1.2, "1.2x").text == "not measured yet (2 configurations)");
  Records zero;
  zero.pairs(7, 1.5);
  zero.results.trials[3].metrics["step_time"] = 0;  // fp32-2, block 1
  CHECK(
      lineOfGain(zero, 1.2, "1.2x").cells[1] ==
      "1 pair has no value that can be used: a ratio needs values above 0, and step_time of precision=fp32 gpus=2 is 0 "
      "in 1 of 7 trials: claim a difference, or read it with a finer clock");
  for (store::Trial& trial : zero.results.trials) trial.metrics.erase("step_time");
  CHECK(lineOfGain(zero, 1.2, "1.2x").cells[0] == "step_time is missing from the trials of precision=fp64 gpus=1");

  plan::Plan plan = study();
  plan.points[1].unavailable = plan.points[3].unavailable = "the node has fewer cards";
  Records one;
  one.pairs(7, 1.5);
  std::erase_if(one.results.trials, [](const store::Trial& trial) { return trial.key->place.point.back() == '2'; });
  const plan::Criterion gain = criterion(gainCells(), atLeast(1.2, "1.2x"), "x", 0.95);
  CHECK(
      lineOf(plan, gain, one).text ==
      "undecided in 1 of 2 configurations (1 passes); precision=fp32 gpus=2 cannot run here: the node has fewer cards");
  plan::Criterion nobody = gain;
  nobody.not_asked = true;
  CHECK(lineOf(study(), nobody, {}).text == "none of its configurations is selected, or can run here");
}

TEST_CASE("memory: infeasible, unstable, without a baseline") {
  const auto gain = [](const std::string& point, int64_t from, int64_t to) {
    Records records;
    records.pairs(8, 1.5);
    for (store::Trial& trial : records.results.trials) {
      if (trial.key->place.point != point || trial.block < from || trial.block > to) continue;
      trial.status = TrialStatus::Infeasible;
      trial.reason = "killed by the kernel: out of memory\nand more";
      trial.metrics.clear();
    }
    return lineOfGain(records, 1.2, "1.2x").text;
  };
  const std::string cause = ": killed by the kernel: out of memory";
  CHECK(gain("fp32-2", 1, 8) ==
        "out of memory in 1 of 2 configurations: precision=fp32 gpus=2 ran out of memory in 8 blocks" + cause);
  CHECK(has(gain("fp32-2", 3, 3), "precision=fp32 gpus=2 is unstable: it ran out of memory in 1 of 8 blocks" + cause));
  CHECK(has(gain("fp64-2", 1, 8),
            "no comparison: the baseline precision=fp64 gpus=2 ran out of memory in 8 blocks" + cause));
}

TEST_CASE("a claim that memory runs out says in how many blocks it did") {
  plan::Plan plan = study();
  Records records;
  for (const int64_t block : {1, 2}) records.runsOut("bf16-1", block);
  records.runsOut("bf16-2", 1);
  CHECK(lineOf(plan, outOfMemory(), records).text ==
        "undecided in 1 of 2 configurations; precision=bf16 gpus=2 ran out of memory in 1 block, 2 are needed");
  Records both = records;
  both.runsOut("bf16-2", 2);
  CHECK(lineOf(plan, outOfMemory(), both).text == "both configurations ran out of memory, in at least 2 blocks each");
  records.timed("bf16-2", 2, 0.1);
  CHECK(lineOf(plan, outOfMemory(), records).text ==
        "fails in 1 of 2 configurations; precision=bf16 gpus=2 ran well in 1 of 2 blocks, out of memory in 1: it is "
        "unstable (out of memory)");
  Records broken;
  broken.add("bf16-1", TrialKind::Timed, 1, TrialStatus::Failed).reason = "rank 1 died";
  CHECK(has(lineOf(plan, outOfMemory(), broken).text,
            "precision=bf16 gpus=1 failed for another reason than memory: rank 1 died"));

  for (plan::Point& point : plan.points)
    if (point.id.starts_with("bf16")) point.expected_infeasible = "needs 120 GiB of 96 GB";
  const std::string expected = " was not started: its estimated memory exceeds the device's: needs 120 GiB of 96 GB";
  CHECK(
      has(lineOf(plan, outOfMemory(), {}).text, expected + " (an estimate proves nothing; --try-infeasible runs it)"));
  CHECK(has(lineOf(plan, criterion(gainCells("bf16"), atLeast(1.2, "1.2x"), "x", 0.95), {}).text,
            "precision=bf16 gpus=1" + expected));
  std::string text;
  llvm::raw_string_ostream stream(text);
  writeResultJson(stream, {plan, describe::conclude(plan, store::Results()), {}}, nullptr, false);
  CHECK(has(text, "\"last_reason\":\"expected infeasible, not started: needs 120 GiB of 96 GB\""));
}

TEST_CASE("a claim about every trial counts trials") {
  const plan::Plan plan = study();
  const auto claim = criterion(metricCells(plan, "accuracy"), atLeast(0.9, "90 %"), "", std::nullopt);
  Records records;
  for (const plan::Point& point : plan.points)
    records.accuracy(point.id, 1, 0.95 + 0.001 * (point.levels[0] + point.levels[1]));
  CHECK(lineOf(plan, claim, records).text == "all 6 runs are at least 90 %; lowest 95.0 % at precision=fp64 gpus=1");
  records.results.trials[5].metrics["accuracy"] = 0.883;
  records.results.trials[4].metrics["accuracy"] = 0.899;
  const Line fails = lineOf(plan, claim, records);
  CHECK(fails.text == "2 of 6 runs are below 90 %; lowest 88.3 % at precision=bf16 gpus=2");
  CHECK(fails.cells[5] == "1 of 1 run is below 90 %");
  for (store::Trial& trial : records.results.trials) trial.metrics["accuracy"] = 0.9;
  records.results.trials[2].status = TrialStatus::Timeout;
  CHECK(lineOf(plan, claim, records).text == "1 of 6 runs is below 90 %: a timeout at precision=fp32 gpus=1");
  records.results.trials[2].status = TrialStatus::Failed;
  records.results.trials[2].reason = "worker printed nonsense";
  CHECK(lineOf(plan, claim, records).text ==
        "broken in 1 of 6 configurations (5 pass); precision=fp32 gpus=1 failed: worker printed nonsense");

  const plan::Plan thrice = study(7, 3);
  auto cells = metricCells(thrice, "accuracy");
  cells.resize(1);
  Records two;
  two.accuracy("fp64-1", 1, 0.95);
  two.accuracy("fp64-1", 2, 0.96);
  CHECK(lineOf(thrice, criterion(cells, atLeast(0.9, "90 %"), "", std::nullopt), two).text ==
        "precision=fp64 gpus=1: 2 of 3 runs so far, both at least 90 %");
}

TEST_CASE("medians, constant values, and series that never get there") {
  plan::Plan plan = study(7, 7);
  auto cells = metricCells(plan, "accuracy");
  cells.resize(1);
  Records records;
  for (int64_t block = 1; block <= 7; ++block)
    records.accuracy("fp64-1", block, 0.952 + 0.002 * double((block * 3) % 7));
  CHECK(lineOf(plan, criterion(cells, atLeast(0.9, "90 %"), "", 0.95), records).text ==
        "95.8 % [94.7 %, 96.9 %], at least 90 % (precision=fp64 gpus=1)");
  CHECK(lineOf(plan, criterion(cells, atLeast(0.9, "90 %"), "", 0.99), records).cells[0] ==
        "only 7 trials; a 99 % interval needs 8");

  auto memory = metricCells(plan, "memory");
  memory.resize(2);
  Records exact;
  exact.pairs(2, 1.5);
  CHECK(lineOf(study(2), criterion(memory, atMost(0x1p31, "2GiB"), "B", 0.95), exact).text ==
        "at most 2GiB in both configurations; highest 1.00 GiB in every run at gpus=1");
  for (store::Trial& trial : exact.results.trials) {
    trial.metrics.erase("memory");
    trial.not_on_device = {"memory"};
  }
  CHECK(has(lineOf(study(2), criterion(memory, atMost(1e9, "1GB"), "B", std::nullopt), exact).text,
            "memory is not measured on this device"));

  plan::Metric epochs{"epochs", "", "", plan::Direction::Lower, TrialKind::Quality, false};
  epochs.derived = term(plan::FirstTerm{{"loss", ""}, {Relation::LessEqual, 0.5, 0, "<= 0.5"}});
  plan.metrics.push_back({"loss", "", "", plan::Direction::Lower, TrialKind::Quality, false});
  plan.metrics.push_back(epochs);
  plan::Cell cell = cells[0];
  cell.kind = TrialKind::Quality;
  cell.term = metric("epochs", "fp64-1");
  for (store::Trial& trial : records.results.trials) trial.series["loss"] = {3, 2, 1};
  const auto soon = criterion({cell}, atMost(2, "2"), "", std::nullopt);
  CHECK(lineOf(plan, soon, records).text ==
        "7 of 7 runs are above 2: a series that never reached its bound at precision=fp64 gpus=1");
  for (store::Trial& trial : records.results.trials) trial.status = TrialStatus::Timeout;
  CHECK(lineOf(plan, soon, records).text == "7 of 7 runs are above 2: a timeout at precision=fp64 gpus=1");
}

TEST_CASE("agreement with a reference names the band of the cell") {
  Records records;
  records.pairs(7, 1.5);
  plan::Criterion agree = criterion(gainCells(), {Relation::Within, 0, 0, "like table2 within 10 %"}, "x", 0.95);
  agree.cells[0].bound = plan::Bound{Relation::Within, 1.35, 1.65, "within 10 % of 1.50x"};
  agree.cells[1].bound = plan::Bound{Relation::Within, 1.4, 1.7, "within 10 % of 1.55x"};
  CHECK(has(lineOf(study(), agree, records).text, "within 10 % of 1.5"));
  agree.cells[1].bound = plan::Bound{Relation::Within, 1.8, 2.2, "within 10 % of 2.00x"};
  const Line fails = lineOf(study(), agree, records);
  CHECK(has(fails.text, "differs from the published values in 1 of 2 configurations"));
  CHECK(fails.cells[1] == "outside 10 % of 2.00x");
}

TEST_CASE("steps of a clock, and a quotient by zero") {
  plan::Cell pair = gainCells()[0];
  plan::Plan plan = study();
  CHECK(stepsText(plan, pair, {"step_time", 2, 0.01}) ==
        "step_time of one point was read as 2 different values, so the interval is at least 10.0 ms wide to each "
        "side");
  CHECK(stepsText(plan, metricCells(plan, "step_time")[0], {"step_time", 1, 0.001}) ==
        "step_time was read as the same each time, so the interval is at least 1.00 ms wide to each side");
  const plan::Why zero = plan::because({Reason::DivisionByZero});
  CHECK(inWords(plan, plan::because({.code = Reason::NotComputed, .name = "share", .because = zero})).text ==
        "share cannot be computed: a division by zero");
  CHECK(inWords(plan, plan::because({.code = Reason::Trend, .numbers = {0.9, 30}})).text ==
        "cannot be judged: its 30 values rise or fall over the run (Kendall's tau 0.90), so they have no level");
  CHECK(inWords(plan, plan::because({.code = Reason::SessionsApart, .numbers = {2, 5}})).text ==
        "cannot be judged: its 2 sessions differ; about 5 sessions would give an interval");
  CHECK(inWords(plan, nullptr).text.empty());
}

TEST_CASE("a control says how far the same twice agrees, and what asks for how much") {
  plan::Plan plan = study();
  plan.controls = {{"twice", "fp64-1"}};
  plan.criteria.push_back(criterion(gainCells(), atLeast(1.2, "it"), "x", 0.95));
  const auto judged = [&](double factor, int64_t blocks) {
    Records records;
    records.pairs(7, 1.5);
    for (int64_t b = 1; b <= blocks; ++b)
      records.timed({"fp64-1", "twice"}, b, 0.1 * (1 + 0.2 * double(((b - 1) * 7) % 5)) * factor);
    return describe::conclude(plan, records.results);
  };
  const auto scattered = [&](double spread) {
    Records records;
    records.pairs(7, 1.5);
    for (const store::Trial& trial : std::vector(records.results.trials))
      if (trial.place() == "fp64-1")
        records.timed({"fp64-1", "twice"}, trial.block,
                      trial.metrics.at("step_time") * (1 + spread * double((trial.block * 3) % 7 - 3)));
    return describe::conclude(plan, records.results);
  };
  CHECK(has(whyText(plan, scattered(0.01).controls[0]), "agrees with the earlier (1.00x [0."));
  CHECK(has(whyText(plan, scattered(0.01).controls[0]), ", by less than 10.0 %, half of the 20.0 % that are claimed"));
  const describe::Conclusions open = scattered(0.1);
  REQUIRE(open.criteria[0].unshown);
  CHECK(has(
      whyText(plan, *open.criteria[0].unshown),
      ", but so few blocks at this noise do not exclude a difference of 10.0 %, half of the 20.0 % that this claims; "
      "about "));
  CHECK(whyText(plan, *open.criteria[0].unshown).ends_with(" blocks would in 80 % of studies"));
  CHECK(
      controlNeedText(plan, plan.criteria[0], 0.1) ==
      "control twice shows a difference of 10.0 %, half of what this claims, in 25 % of studies with 7 blocks at 10 % "
      "noise; it needs about 20 blocks for 80 %");
  CHECK(controlNeedText(plan, plan.criteria[0], 0.01) ==
        "control twice shows a difference of 10.0 %, half of what this claims, in 100 % of studies with 7 blocks at "
        "1 % noise");
  const describe::Conclusions far = judged(1.15, 7);
  CHECK(has(whyText(plan, far.controls[0]),
            "which may be more than 10.0 %, half of the 20.0 % that are claimed at least"));
  REQUIRE(far.criteria[0].untrusted);
  const std::string untrusted = whyText(plan, *far.criteria[0].untrusted);
  CHECK(untrusted.starts_with(
      "step_time of precision=fp64 gpus=1 (control twice), run twice in each block: the later run differs from "));
  CHECK(untrusted.ends_with(
      "which may be more than 10.0 %, half of the 20.0 % that this claims; more blocks alone will hardly help: find "
      "what a run leaves behind, or claim a larger gap"));
  CHECK(has(whyText(plan, judged(1.15, 5).controls[0]), "is not judged: only"));
  describe::Conclusions null = judged(1, 7);
  CHECK(has(whyText(plan, null.controls[0]), "agrees with the earlier ("));
  judge::withholdVerdicts(null);
  CHECK(whyText({plan, plan.criteria[0], null.criteria[0]}) == "measured on simulated GPUs, which compute nothing");
  CHECK(whyText(plan, null.controls[0]) ==
        "step_time (control twice) is not judged: measured on simulated GPUs, which compute nothing");
}

}  // namespace expc::report
