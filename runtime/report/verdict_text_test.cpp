
#include "runtime/report/verdict_text.h"

#include <doctest/doctest.h>

#include "runtime/describe/description.h"
#include "runtime/judge/meaning.h"
#include "tests/support/report/example_results.h"

namespace expc::report {
namespace {

using judge::Verdict;

/// The text behind `label`; "" if there is none.
std::string said(const plan::Criterion& criterion, const judge::CriterionResult& result, const std::string& label,
                 const describe::Description& seen = {}, const plan::Plan& plan = {},
                 const store::Results& results = {}) {
  describe::Conclusions judgement;
  judgement.description = seen;
  std::string text;
  for (const Fact& one : verdictFacts({plan, judgement, results}, {plan, criterion, result}))
    if (one.label == label) text += (text.empty() ? "" : " | ") + one.text;
  return text;
}

plan::Criterion claimOnPairs() {
  plan::Criterion claim;
  claim.confidence = 0.95;
  claim.factors = {"gpus"};
  claim.cells.resize(2);
  for (size_t i = 0; i < 2; ++i) {
    claim.cells[i].levels = {unsigned(i)};
    claim.cells[i].points = {"treated", "baseline"};
  }
  return claim;
}

judge::CriterionResult judged(Verdict verdict) {
  judge::CriterionResult result;
  result.verdict = verdict;
  result.why = exampleWhy("");  // reasons of cells are tested in why_test.cpp
  result.scope = {7, 7, 0, 1, 1};
  result.cells.resize(2);
  for (unsigned i = 0; i < 2; ++i) {
    result.cells[i].cell = i;
    result.cells[i].verdict = verdict;
    result.cells[i].scope = result.scope;
    result.cells[i].interval = {1.3, 1.5, 0.984};
  }
  return result;
}

TEST_CASE("the value that a study expects stands beside the verdict") {
  plan::Criterion claim = claimOnPairs();
  CHECK(said(claim, judged(Verdict::Pass), "expected").empty());
  claim.expected = "1.5x noise 8%";
  CHECK(said(claim, judged(Verdict::Pass), "expected") == "1.5x noise 8%");
}

TEST_CASE("a reason is said once") {
  const auto words = [](const std::string& of, const std::string& cause) {
    return Words{of + (cause.empty() ? "" : ": " + cause), cause, of};
  };
  const std::vector<Words> reasons = {
      words("level=1 failed", "no such file"),         words("level=2 failed", "killed: by whom"),
      words("level=3 failed", "killed: by whom"),      words("level=\"4: slow; a\" is not available here", ""),
      words("tag=\"a: b\" failed", "killed: by whom"), words("needs 6 pairs", ""),
      words("web=1 failed", "port 40112 is taken"),    words("web=2 failed", "port 41000 is taken"),
      words("web=3 failed", "exited with code 1"),     words("web=4 failed", "exited with code 2")};
  CHECK(saidOnce({reasons.front(), reasons[5]}, reasons) ==
        std::vector<std::string>{"level=1 failed", "level=2 failed: killed: by whom", "level=3 failed",
                                 "level=\"4: slow; a\" is not available here", "tag=\"a: b\" failed", "",
                                 "web=1 failed: port 40112 is taken", "web=2 failed",
                                 "web=3 failed: exited with code 1", "web=4 failed: exited with code 2"});
  const Words few = words("needs 6 pairs, has 3", "");
  CHECK(saidOnce({}, {few, few}) == std::vector<std::string>{"all rows: needs 6 pairs, has 3", ""});
}

TEST_CASE("how sure a claim with a confidence is") {
  const plan::Criterion claim = claimOnPairs();
  const std::string counts = "; 7 of 7 pairs per configuration, 1 session, 1 node";
  judge::CriterionResult result = judged(Verdict::Pass);
  CHECK(said(claim, result, "confidence") == "at 95 % confidence, the false pass rate is at most 2.5 %" + counts);
  CHECK(said(claim, judged(Verdict::Fail), "confidence") ==
        "at 95 % confidence, the false fail rate is at most 2.5 %" + counts);
  CHECK(said(claim, judged(Verdict::Inconclusive), "confidence") == "the 95 % interval includes the bound" + counts);
  CHECK(said(claim, judged(Verdict::NotAsked), "confidence").empty());
  result.look = judge::Look{{8}, 14, 20, 0.979};
  CHECK(said(claim, result, "confidence") ==
        "this look's intervals, of 97.9 % so that all looks keep 95 % confidence, decide it" + counts);
  CHECK(said(claim, result, "note").starts_with("interim analysis 2 (before: after 8; 14 of 20 blocks now)"));
  result.look->decided_at = 8;
  CHECK(said(claim, result, "confidence") ==
        "the look after 8 repetitions decided it and stands: all looks together keep 95 % confidence" + counts);
  CHECK(said(claim, result, "note").ends_with("; the verdict of the look after 8 stands"));
  result = judged(Verdict::Pass);
  result.provisional = true;
  CHECK(said(claim, result, "confidence") == "provisional: not all planned trials are measured" + counts);
  CHECK(markedVerdict(result) == "PASS (provisional)");
  result = judged(Verdict::Pass);
  const plan::Plan plan = plan::examplePlan();
  result.untrusted = exampleDistrust(plan);
  CHECK(said(claim, result, "confidence", {}, plan) ==
        "untrusted: step_time of " + plan.label(plan.points[0]) +
            " (control again), run twice in each block: the later run differs from the earlier (1.20x [1.18x, 1.22x]), "
            "which may "
            "be more than 5.0 %, half of the 10.0 % that this claims; more blocks alone will hardly help: find what a "
            "run leaves "
            "behind, or claim a larger gap" +
            counts);
  result = judged(Verdict::Pass);
  for (judge::CellEstimate& cell : result.cells) cell.constant = true;
  CHECK(said(claim, result, "confidence") ==
        "exact values, equal in every block although each block has another seed" + counts);
}

TEST_CASE("what a verdict rests on is told by the cell that has the fewest") {
  plan::Criterion claim = claimOnPairs();
  claim.cells.resize(1);
  judge::CriterionResult result = judged(Verdict::Inconclusive);
  result.cells.resize(1);
  claim.domain = "gpus 1, 2";
  result.scope = {10, 9, 1, 2, 1};
  CHECK(said(claim, result, "confidence") ==
        "the 95 % interval includes the bound; 9 of 10 pairs (1 block lost), 2 sessions, 1 node");
  judge::CriterionResult none = result;
  none.cells[0].interval.reset();
  CHECK(said(claim, none, "confidence") == "9 of 10 pairs (1 block lost), 2 sessions, 1 node");
  CHECK(said(claim, result, "scope") == "gpus 1, 2");
  plan::Plan plan = plan::examplePlan();
  plan.points[0].parameters["gpus"] = 1;
  store::Results results;
  results.sessions.resize(1);
  results.sessions[0].environment_json = R"({"slots": [{"device": "cpu", "cores": [0]}]})";
  CHECK(said(claim, result, "scope", {}, plan, results) == "gpus 1, 2; run on CPU cores, not GPUs");
  result.scope = {7, 20, 0, 1, 1};
  result.cells.resize(2);
  result.cells[0].scope = result.scope;
  CHECK(said(claim, result, "confidence") ==
        "the 95 % interval includes the bound; 20 pairs (7 planned) in the configuration with the "
        "fewest, 1 session, 1 node");
}

TEST_CASE("a claim that memory runs out tells in how many blocks it did where that decides") {
  plan::Criterion claim = claimOnPairs();
  claim.confidence.reset();
  claim.infeasible = true;
  judge::CriterionResult result = judged(Verdict::Pass);
  result.scope = {2, 2, 0, 1, 1};
  result.cells[0].scope.complete = 2;
  result.cells[1].scope.complete = 0;
  result.cells[1].verdict = Verdict::Fail;  // of an exists
  CHECK(said(claim, result, "confidence") == "memory ran out in 2 blocks, 1 session, 1 node");
  result.cells[1].scope.complete = 3;
  result.cells[1].verdict = Verdict::Pass;
  CHECK(said(claim, result, "confidence") ==
        "memory ran out in 2 blocks at the point that has the fewest, 1 session, 1 node");
}

TEST_CASE("a claim on single trials says what they leave open, however many there are") {
  plan::Criterion claim;
  claim.cells.resize(2);
  judge::CriterionResult result = judged(Verdict::Pass);
  result.every_trial = true;
  result.conditions = {{judge::Condition::Independent}, {judge::Condition::LostAlike, 2}};
  const auto trials = [&](size_t first, size_t second) {
    result.cells[0].values.assign(first, 0.9);
    result.cells[1].values.assign(second, 0.9);
    // With six values there is an interval, but a claim without confidence does not use it.
    for (judge::CellEstimate& cell : result.cells)
      cell.interval = cell.values.size() < 6 ? std::nullopt : std::optional(stats::Interval{0.9, 0.91, 0.97});
    return said(claim, result, "confidence");
  };
  const std::string counts = "; 7 of 7 trials per configuration, 1 session, 1 node",
                    conditions = ", if trials are independent and the 2 lost trials are like the others" + counts;
  CHECK(trials(2, 1) ==
        "each configuration held in at least 1 trial; 1 trial cannot exclude, at 95 % confidence, that up to 95 % of "
        "such trials would fail" +
            counts);
  CHECK(marksOf(result) == std::vector<std::string>{"n=1"});
  CHECK(verdictFacts({{}, {}, {}}, {{}, claim, result})[0].style == "warns");
  CHECK(said(claim, result, "next") ==
        "final for these trials; 10 of each without a failure would exclude failure rates above 26 %");
  CHECK(trials(4, 4) ==
        "each configuration held in all 4 trials; 4 trials cannot exclude, at 95 % confidence, that up to 53 % of such "
        "trials would fail" +
            counts);
  // 1 - 0.05^(1/5) is below a half.
  CHECK(trials(5, 5) ==
        "each configuration held in all 5 trials; 5 passes show, at 95 % confidence, that at most 45 % of "
        "such trials would fail" +
            conditions);
  CHECK(marksOf(result).empty());
  CHECK(said(claim, result, "next") == "");
  CHECK(trials(6, 7) ==
        "each configuration held in at least 6 trials; 6 passes show, at 95 % confidence, that at most "
        "39 % of such trials would fail" +
            conditions);
  CHECK(trials(100, 100).starts_with(
      "each configuration held in all 100 trials; 100 passes show, at 95 % confidence, that at most 3 % "));
  for (plan::Cell& cell : claim.cells) cell.points = {"treated", "baseline"};
  CHECK(
      trials(10, 10).starts_with("each comparison held in all 10 pairs; 10 passes show, at 95 % confidence, that at "
                                 "most 26 % of such pairs would fail, if pairs are independent"));
  // An exact metric that never varied, and anything that does not pass.
  trials(2, 2);
  for (judge::CellEstimate& cell : result.cells) cell.interval = {0.9, 0.9, 0.95}, cell.constant = true;
  CHECK(marksOf(result).empty());
  trials(1, 1);
  result.verdict = Verdict::Fail;
  CHECK(marksOf(result).empty());
}

TEST_CASE("a pass that does not stand, or on little, does not look like a sure one") {
  judge::CriterionResult result = judged(Verdict::Pass);
  CHECK(judge::meaningOf(result).style == "pass");
  CHECK(judge::meaningOf(result).exit_code == 0);
  result.every_trial = true;
  for (judge::CellEstimate& cell : result.cells) cell.interval.reset(), cell.values = {0.9};
  CHECK(judge::meaningOf(result).style == "weak");
  CHECK(judge::meaningOf(result).answer == judge::Answer::Holds);
  for (const Verdict verdict : {Verdict::Pass, Verdict::Fail, Verdict::Infeasible, Verdict::Inconclusive}) {
    judge::CriterionResult doubted = judged(verdict);
    doubted.untrusted = exampleDistrust(plan::examplePlan());
    CHECK(judge::meaningOf(doubted).style == "open");
    CHECK(judge::meaningOf(doubted).exit_code == 4);
  }
  CHECK(judge::meaningOf(judged(Verdict::Infeasible)).exit_code == 3);
  CHECK(judge::meaningOf(judged(Verdict::NotAsked)).answer == judge::Answer::NotAsked);
}

TEST_CASE("what comes next, and what is to be noted") {
  const plan::Criterion claim = claimOnPairs();
  judge::CriterionResult result = judged(Verdict::Inconclusive);
  result.cells[1].steps = {"t", 1, 1};
  result.next = judge::NextStep{judge::NextStep::Reach::Decides, 9, 16, 240, Verdict::Fail};
  CHECK(said(claim, result, "next") ==
        "about 9 more blocks (4 min) have an 80 % chance to decide it, probably as FAIL");
  result.next->at_estimate = 3;
  CHECK(said(claim, result, "next").ends_with("probably as FAIL; 3 are enough if the estimate is the true value"));
  plan::Plan plan;
  plan.factors = {{"gpus", {{"1", 1}, {"2", 2}}, std::nullopt, {}}};
  CHECK(said(claim, result, "note", {}, plan) ==
        "t of one point was read as the same each time, so the interval is at least 1 wide to each side (at "
        "gpus=2)");
  result.next = judge::NextStep{judge::NextStep::Reach::Intervals, 1, 6, {}};
  CHECK(said(claim, result, "next") == "1 more block would give an interval");
  result.next = judge::NextStep{.reach = judge::NextStep::Reach::Sessions, .sessions = 7};
  result.scope.sessions = 2;
  CHECK(
      said(claim, result, "next") ==
      "About 7 sessions like these have an 80 % chance to decide it, if they go on to differ as these 2 do. Each is a "
      "restart of the machine; what a restart changes can also be found and fixed.");
  result.next->sessions = 0;
  CHECK(said(claim, result, "next").starts_with("More than a thousand sessions like these would decide it, if "));
  result.next = judge::NextStep{judge::NextStep::Reach::OutOfReach, 23456, 0, {}};
  CHECK(said(claim, result, "next") ==
        "Out of reach with this noise: about 23000 blocks for an 80 % chance. Reduce the noise, claim a bound further "
        "from the estimate, or ask about fewer configurations.");
  result.next->at_estimate = 40;
  CHECK(said(claim, result, "next").find("chance; 40 are enough if the estimate is the true value. Reduce") !=
        std::string::npos);
}

TEST_CASE("losses are counted by point, and timeouts are values and no losses") {
  const plan::Plan plan = plan::examplePlan();
  plan::Criterion claim = claimOnPairs();
  claim.cells.resize(1);
  claim.cells[0].points = {plan.points[0].id, plan.points[1].id};
  judge::CriterionResult result = judged(Verdict::Pass);
  result.cells.resize(1);
  describe::Conclusions judgement;
  judgement.points.resize(2);
  for (size_t i = 0; i < 2; ++i) judgement.points[i].point = plan.points[i].id, judgement.points[i].valid = 8;
  const std::string first = plan.label(plan.points[0]), second = plan.label(plan.points[1]);
  const auto uneven = [&] { return unevenLossText(judgement, {plan, claim, result}); };
  const auto timeouts = [&] {
    std::string text;
    for (const Fact& one : verdictFacts({plan, judgement, {}}, {plan, claim, result}))
      if (one.text.find("timed out") != std::string::npos) text += one.text;
    return text;
  };
  CHECK(uneven().empty());
  judgement.points[0].timeouts = 4;
  CHECK(uneven().empty());
  CHECK(timeouts().empty());
  result.cells[0].worst.timed_out = true;
  CHECK(timeouts() == "trials that timed out count as worse than every value: 4 of 12 at " + first);
  judgement.points[0].superseded = 4;  // they run again, under a longer limit
  CHECK(timeouts().empty());
  judgement.points[0] = {};
  judgement.points[0].point = plan.points[0].id;
  judgement.points[0].valid = 6;
  judgement.points[0].failed = judgement.points[0].invalid = judgement.points[0].infeasible = 1;
  CHECK(uneven() == "lost trials (failed, disturbed or out of memory): 3 of 9 at " + first + ", 0 of 8 at " + second +
                        "; if losses depend on what is measured, the remaining trials are biased");
}

TEST_CASE("a metric keeps its spelling where a sentence begins with it") {
  const Example example = exampleResults();
  const plan::Criterion claim = claimOnPairs();
  judge::CriterionResult result = judged(Verdict::Inconclusive);
  result.why = plan::because({.code = plan::Reason::NotInOutput, .name = "step_time"});
  CHECK(openSentence({example.plan, claim, result}) == "The metric step_time has no value in the output.");
  result.why = plan::because({.code = plan::Reason::NotPositive});
  CHECK(openSentence({example.plan, claim, result}) == "A ratio needs values above 0.");
}

TEST_CASE("values that lie apart, and what blocks have in common, are noted where a claim reads them") {
  const Example example = exampleResults();
  const plan::Plan& plan = example.plan;
  const auto read = [&](size_t point) {
    plan::MetricTerm term{"step_time", plan::Place(plan.points[point].id)};
    return std::make_shared<const plan::Term>(plan::Term{std::move(term)});
  };
  plan::Criterion claim;
  claim.cells.resize(1);
  claim.cells[0].points = {plan.points[0].id};
  claim.cells[0].term = read(0);
  judge::CriterionResult result = judged(Verdict::Pass);
  describe::Description seen = exampleDescription(plan);
  seen.drifts[0].p = 0.5;
  CHECK(said(claim, result, "note", seen, plan) == "1 outlier, included in all results: step_time of trial 1 at " +
                                                       plan.label(plan.points[0]) +
                                                       " | drift of step_time: the first block is 1.20x the median of "
                                                       "the others, apart from all of them, as a warm-up is");
  // Notes of the criterion's trials are counted, too.
  store::Results results;
  store::Trial trial;
  trial.key = exampleKey(plan::Place(plan.points[0].id));
  trial.status = store::TrialStatus::Valid;
  results.trials = {trial, trial};
  results.trials[1].notes = {"others took its cores; wait for them"};
  claim.cells[0].kind = trial.key->kind;
  CHECK(said(claim, result, "note", {}, plan, results) == "1 of its 2 trials: others took its cores; wait for them");
  // A leak comes before what more trials say.
  results.trials[0].notes = results.trials[1].notes;
  results.trials[1].notes.emplace_back(plan::Note::Leaked, "accuracy", 1, "test image", 3);
  CHECK(said(claim, result, "note", {}, plan, results) ==
        "1 of its 2 trials: 1 of 3 test images are also trained on, so accuracy there measures memorisation | 2 of its "
        "2 trials: others took its cores; wait for them");
  // A claim about pairs gets no note about drift, and no note about outliers of other points.
  claim.cells[0].points = {plan.points[1].id, plan.points[2].id};
  claim.cells[0].term = plan::termOf(plan::OperationTerm{plan::OperationTerm::Op::Ratio, {read(1), read(2)}});
  CHECK(said(claim, result, "note", seen, plan).empty());
}

}  // namespace
}  // namespace expc::report
