#include "runtime/report/outcome.h"

#include <doctest/doctest.h>

#include "runtime/report/example_results.h"
#include "runtime/report/html.h"
#include "runtime/report/result_text.h"

namespace expc::report {
namespace {

using analysis::NextStep;
using analysis::Verdict;

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
  CHECK(tallyText(example.judgement).starts_with("1 provisional, 1 fail"));
  CHECK(tallyText({}).empty());
}

TEST_CASE("the next command is the one that brings open criteria further") {
  Example example = undecided();
  const auto next = nextCommand(example.plan, example.judgement, "out");
  REQUIRE(next);
  CHECK(next->command.ends_with("-D design.timed.repeat=16 --results out"));
  CHECK(next->what_for == "would probably decide fp32_pays");
  for (const std::string& text : {resultText(example.plan, example.judgement, example.results, {}),
                                  htmlPage(example.plan, example.judgement, example.results, {.charts = false})})
    CHECK(text.find("-D design.timed.repeat=16") != std::string::npos);

  example.judgement.unfinished = true;
  const auto same = nextCommand(example.plan, example.judgement, "results");
  REQUIRE(same);
  CHECK(same->command.find("repeat=") == std::string::npos);
  CHECK(same->what_for == "goes on where the study is");
}

TEST_CASE("no command is named that is not known to help") {
  Example example = undecided();
  for (analysis::CriterionResult& result : example.judgement.criteria) result.verdict = Verdict::Pass;
  CHECK(!nextCommand(example.plan, example.judgement, "results"));
  example = undecided();
  example.judgement.criteria[0].next = NextStep{NextStep::Reach::OutOfReach, 0, 0, {}};
  CHECK(!nextCommand(example.plan, example.judgement, "results"));
  example.judgement.points[0].lacking = true;
  const auto again = nextCommand(example.plan, example.judgement, "results");
  REQUIRE(again);
  CHECK(again->command.ends_with(" --retry-failed"));
  CHECK(!nextCommand(example.plan, onNullCards(undecided()).judgement, "results"));
}

}  // namespace expc::report
