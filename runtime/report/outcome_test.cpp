#include <doctest/doctest.h>

#include "runtime/report/commands.h"
#include "runtime/report/html.h"
#include "runtime/report/html_text.h"
#include "runtime/report/texts.h"
#include "tests/support/report/example_results.h"

namespace expc::report {
namespace {

using judge::NextStep;
using judge::Verdict;

/// The example with its first criterion undecided.
Example undecided() {
  Example example = exampleResults();
  example.judgement.criteria[0].verdict = Verdict::Inconclusive;
  example.judgement.criteria[0].next = NextStep{NextStep::Reach::Decides, 9, 16, 240};
  return example;
}

}  // namespace

TEST_CASE("verdicts are counted by what they come to") {
  Example example = exampleResults();
  CHECK(tallyText(example.judgement).starts_with("1 pass, 1 fail"));
  example.judgement.criteria[0].provisional = true;
  CHECK(tallyText(example.judgement).starts_with("1 pass (provisional), 1 fail"));
  CHECK(tallyText({}).empty());
}

TEST_CASE("a report in which more is open still fits on a screen") {
  Example example = undecided();
  for (judge::CellEstimate& cell : example.judgement.criteria[0].cells) cell.verdict = Verdict::Inconclusive;
  const auto lines = [&](const ResultTextOptions& options) {
    return std::ranges::count(resultText({example.plan, example.judgement, example.results}, options), '\n');
  };
  // Each copy adds its line and its cells, six lines in all.
  for (const char* name : {"second", "third", "fourth", "fifth"}) {
    example.plan.criteria.push_back(example.plan.criteria[0]);
    example.judgement.criteria.push_back(example.judgement.criteria[0]);
    example.plan.criteria.back().name = example.judgement.criteria.back().name = name;
  }
  CHECK(lines({.width = 80}) <= 40);
}

TEST_CASE("the next command is the one that brings open criteria further") {
  Example example = undecided();
  const auto next = nextCommands(example.plan, example.judgement, "out");
  REQUIRE(next.size() == 2);
  CHECK(next[0].command.ends_with("-D design.timed.repeat=16 --results out"));
  CHECK(next[0].what_for ==
        "Add 9 more blocks (4 min) as a further look that keeps the confidence, with an 80 % chance to "
        "decide claim fp32_pays");
  CHECK(next[1].command == "expc plan experiments/precision.exp --study precision");
  const std::string text = resultText({example.plan, example.judgement, example.results}, {}),
                    page = htmlPage({example.plan, example.judgement, example.results}, {.charts = false});
  for (const NextCommand& one : nextCommands(example.plan, example.judgement, "results")) {
    CHECK(text.find(one.command) != std::string::npos);
    CHECK(page.find(htmlCommand(one.command)) != std::string::npos);
  }

  example.judgement.unfinished = true;
  const auto same = nextCommands(example.plan, example.judgement, "results");
  REQUIRE(same.size() == 1);
  CHECK(same[0].command.find("repeat=") == std::string::npos);
  CHECK(same[0].what_for == "Continue the study");
  example.judgement.points[0].valid = 0;
  example.judgement.points[0].failed = 2;
  CHECK(nextCommands(example.plan, example.judgement, "results")[0].what_for == "Fix what failed, then continue");
}

TEST_CASE("what timed out runs again only with a longer limit") {
  Example example = undecided();
  judge::PointStatus& status = example.judgement.points[0];
  status.timeouts = 4;
  status.limit = 0.3;
  status.needs_limit = true;
  example.judgement.unfinished = true;
  const auto checkLonger = [&] {
    const auto next = nextCommands(example.plan, example.judgement, "out");
    REQUIRE(!next.empty());
    CHECK(next[0].command.ends_with(" --results out --timeout 0.6s"));
    CHECK(next[0].what_for == "Run again what timed out, with a longer limit");
  };
  checkLonger();
  // Timeouts have settled a point, and further blocks are not known to help.
  status.needs_limit = example.judgement.unfinished = false;
  status.valid = 0;
  example.judgement.criteria[0].next.reset();
  checkLonger();
}

TEST_CASE("a command that takes more time than the budget has says how much") {
  Example example = undecided();
  example.plan.design.budget_seconds = 300;
  example.judgement.spent_seconds = 200;
  CHECK(nextCommands(example.plan, example.judgement, "results")[0].command.ends_with(
      "-D design.timed.repeat=16 -D design.budget=10min"));
  example.judgement.unfinished = true;
  CHECK(nextCommands(example.plan, example.judgement, "results")[0].command.find("budget") == std::string::npos);
  example.judgement.spent_seconds = 301;
  const NextCommand on = nextCommands(example.plan, example.judgement, "results")[0];
  CHECK(on.command.ends_with("-D design.budget=11min"));
  CHECK(on.what_for == "The budget of 5 min is spent. Continue with twice as much");
  example.plan.design.budget_seconds = 3;
  example.judgement.spent_seconds = 3.2;
  CHECK(nextCommands(example.plan, example.judgement, "results")[0].command.ends_with("-D design.budget=7s"));
}

TEST_CASE("where all is decided it can be measured elsewhere, and a selection is not the study as it is written") {
  Example example = undecided();
  for (judge::CriterionResult& result : example.judgement.criteria) result.verdict = Verdict::Pass, result.next.reset();
  example.plan.presets.clear();
  example.plan.overrides.clear();
  const auto next = nextCommands(example.plan, example.judgement, "my results");
  REQUIRE(next.size() == 1);
  CHECK(next[0].command ==
        "expc run experiments/precision.exp --study precision --results 'my results-again'; "
        "expc compare experiments/precision.exp --study precision 'my results' 'my results-again' --claims");
  example.plan.presets = {"quick"};
  CHECK(nextCommands(example.plan, example.judgement, "results").size() == 2);
  // A selection may make a study larger or smaller, so the text promises neither.
  CHECK(nextCommands(example.plan, example.judgement, "results")[1].what_for ==
        "Plan the whole study (this is preset quick)");
}

TEST_CASE("each open criterion has a line of its own, the cheapest first") {
  Example example = undecided();
  example.plan.presets.clear();
  example.plan.overrides.clear();
  for (plan::Criterion& criterion : example.plan.criteria)
    for (plan::Cell& cell : criterion.cells) cell.kind = plan::TrialKind::Timed;
  const auto open = [&](size_t number, const NextStep& step) {
    example.judgement.criteria[number].verdict = Verdict::Inconclusive;
    example.judgement.criteria[number].next = step;
    return example.judgement.criteria[number].name;
  };
  NextStep intervals{NextStep::Reach::Intervals, 2, 9, 30};
  open(1, intervals);
  CHECK(nextCommands(example.plan, example.judgement, "results")[0].what_for.starts_with(
      "Add 2 more blocks (30 s) as a further look that keeps the confidence, which give intervals to claim "));
  intervals.further_look = false;  // too few values for an interval, so nothing was judged before
  const std::string second = open(1, intervals);
  auto next = nextCommands(example.plan, example.judgement, "results");
  REQUIRE(next.size() == 2);
  CHECK(next[0].command.ends_with("-D design.timed.repeat=9"));
  CHECK(next[0].what_for == "Add 2 more blocks (30 s), which give intervals to claim " + second);
  CHECK(next[1].command.ends_with("-D design.timed.repeat=16"));
  example.judgement.criteria[0].next->at_estimate = 3;
  CHECK(nextCommands(example.plan, example.judgement, "results")[1].what_for.ends_with(
      "chance to decide claim fp32_pays (3 are enough if the estimate is the true value)"));
  example.judgement.criteria[0].next->at_estimate = 0;
  // Two criteria with one command share a line.
  open(1, NextStep{NextStep::Reach::Intervals, 9, 16, 240});
  next = nextCommands(example.plan, example.judgement, "results");
  REQUIRE(next.size() == 1);
  CHECK(next[0].what_for.ends_with("with an 80 % chance to decide claim fp32_pays, and which give intervals to claim " +
                                   second));
}

TEST_CASE("no command is named that is not known to help") {
  Example example = undecided();
  example.plan.presets.clear();
  example.plan.overrides.clear();
  example.judgement.criteria[0].next = NextStep{NextStep::Reach::OutOfReach, 0, 0, {}};
  CHECK(nextCommands(example.plan, example.judgement, "results").empty());
  for (const auto& [reach, said] :
       {std::pair(NextStep::Reach::OutOfReach, "Next        fp32_pays: Out of reach with this"),
        std::pair(NextStep::Reach::Trend, "Next        fp32_pays: More blocks do not help"),
        std::pair(NextStep::Reach::NotSimulated, "Next        fp32_pays: The study is too")}) {
    example.judgement.criteria[0].next->reach = reach;
    CHECK(resultText({example.plan, example.judgement, example.results}, {}).find(said) != std::string::npos);
  }
  example.judgement.points[0].lacking = true;
  example.judgement.points[0].failed = 2;
  const auto again = nextCommands(example.plan, example.judgement, "results");
  REQUIRE(again.size() == 1);
  CHECK(again[0].command.ends_with(" --retry-failed"));
  // Failed trials are tried again first, even if more blocks would help, too.
  example.judgement.criteria[0].next = NextStep{NextStep::Reach::Intervals, 2, 9, 30};
  const auto still = nextCommands(example.plan, example.judgement, "results");
  REQUIRE(still.size() == 1);
  CHECK(still[0].command == again[0].command);
  CHECK(nextCommands(example.plan, onNullCards(undecided()).judgement, "results").empty());
}

}  // namespace expc::report
