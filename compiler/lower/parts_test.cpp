#include <doctest/doctest.h>

#include "runtime/base/json.h"
#include "tests/lowered.h"
#include "tests/study_fixture.h"

using namespace expc;

namespace {

using Files = std::map<std::string, std::string>;

/// The plan of the only study as text, with no error allowed.
std::string planText(const std::string& text, const Files& files = {}, const std::vector<std::string>& overrides = {}) {
  check::Fixture fixture(text, files, overrides);
  const check::System system = check::System::unknown("here");
  const auto plan = lower::compile(fixture.program, {{}, {}, overrides}, &system, fixture.emitter);
  REQUIRE_MESSAGE(plan.has_value(), fixture.text());
  plan::Plan without = *plan;
  // Rules in a part have another place.
  for (plan::RemovedGroup& group : without.removed) group.location.clear();
  return base::prettyJson(plan::toJson(without));
}

const std::string kGood = "criterion good: forall *: gain >= 1.2x with confidence 95% ";

}  // namespace

TEST_CASE("a study with parts has the plan of the one that is written out") {
  const std::string flat =
      check::kJob +
      std::string(
          "study s { workload job(rate = 0.25) factor gpus in 1..4 baseline 1 factor batch in { 8, 16 } baseline 8 "
          "factor method in { none, lora } require small: gpus * batch <= 32 because \"memory\" "
          "compare gain = speedup(step_time) over gpus ") +
      kGood +
      "criterion late: forall *: step_time <= 1s always table step_time by gpus "
      "design { timed { repeat 10 steps 5 } seed 3 } preset quick { only gpus in { 1, 2 } } }\n";
  const std::string node =
      "part outer { factor gpus in 1..4 baseline 1 use inner table step_time by gpus } "
      "part inner { factor batch in { 8, 16 } baseline 8 require small: gpus * batch <= 32 because \"memory\" "
      "design { timed { repeat 10 } } preset quick { only gpus in { 1, 2 } } }";
  const std::string parts = check::kJob +
                            std::string(
                                "study s { workload job(rate = 0.25) use node.outer factor method in { none, lora } "
                                "compare gain = speedup(step_time) over gpus ") +
                            kGood +
                            "criterion late: forall *: step_time <= 1s always design { timed { steps 5 } seed 3 } }\n";
  CHECK(planText(flat) == planText("import \"lib/node.exp\"\n" + parts, {{"dir/lib/node.exp", node}}));
}

TEST_CASE("a path and a name in a part are those of the part's file") {
  const std::string flat = check::jobStudy("factor gpus in { 1, 2 } measure step_time");
  const std::string used =
      flat.substr(0, flat.find("workload job()")) + "use lib.all measure step_time" + check::kDesign + "}\n";
  check::Fixture fixture(
      "import \"far/lib.exp\"\nlet n = 5\n" + used,
      {{"dir/far/lib.exp", "let n = 2 part all { workload job(data = real(\"rows\")) factor gpus in { 1, n } }"}});
  // `job` is the root's, which the part's file does not know.
  CHECK(fixture.slugs() == std::vector<std::string>{"unknown-name"});
  CHECK(fixture.text().find("the part 'all' is used here") != std::string::npos);
}

TEST_CASE("parts that use each other without end are refused") {
  std::string text = check::jobStudy("use p0 measure step_time");
  for (int i = 0; i < 1000; ++i) text += fmt::format("part p{} {{ use p{} }}\n", i, i + 1);
  CHECK(check::Fixture(text + "part p1000 { }").slugs() == std::vector<std::string>{"not-supported"});
}

TEST_CASE("-D replaces a constant of the study, and the plan records it") {
  const auto study = [](const std::string& bound) {
    return check::jobStudy("param wanted : Ratio in 1x..2x = " + bound +
                           " factor gpus in { 1, 2 } baseline 1 compare gain = speedup(step_time) over gpus "
                           "criterion good: forall *: gain >= wanted with confidence 95% ");
  };
  check::Fixture fixture(study("1.2x"), {}, {"wanted=1.3x"});
  const auto plan = lower::compile(fixture.program, {{}, {}, {"wanted=1.3x"}}, nullptr, fixture.emitter);
  REQUIRE_MESSAGE(plan.has_value(), fixture.text());
  CHECK(plan->criteria[0].bound.low == 1.3);
  CHECK(plan->overrides == std::vector<std::string>{"wanted=1.3x"});
  CHECK(check::Fixture(study("1.2x"), {}, {"wanted=3x"}).slugs() == std::vector<std::string>{"out-of-range"});
  CHECK(check::Fixture(study("1.2x"), {}, {"wanted=3"}).slugs() == std::vector<std::string>{"type-mismatch"});
  // A program that was checked without the override does not pass for one with it.
  check::Fixture without(study("1.2x"));
  CHECK(!lower::compile(without.program, {{}, {}, {"wanted=1.3x"}}, nullptr, without.emitter).has_value());
}

TEST_CASE("what a study expects reaches the plan and leaves its digest as it is") {
  const auto planned = [](const std::string& stated) {
    check::Fixture fixture(check::jobStudy(
        "factor gpus in { 1, 2 } baseline 1 compare gain = speedup(step_time) over gpus " + kGood + stated));
    auto plan = lower::compile(fixture.program, {}, nullptr, fixture.emitter);
    REQUIRE_MESSAGE(plan.has_value(), fixture.text());
    return *plan;
  };
  const plan::Plan with = planned("expected gain = 1.5x  noise 8%"), without = planned("");
  CHECK(with.criteria[0].expected == "1.5x noise 8%");
  CHECK(with.digest == without.digest);
}
