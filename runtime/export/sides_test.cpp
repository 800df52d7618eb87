#include "runtime/export/sides.h"

#include <doctest/doctest.h>

#include <cmath>

#include "runtime/base/json.h"
#include "tests/support/report/example_results.h"

namespace expc::exports {
namespace {

/// The example twice, with the criteria that pass.
struct Twice {
  report::Example example = report::exampleResults();
  std::vector<Side> sides;

  Twice() {
    auto& criteria = example.judgement.criteria;
    std::erase_if(criteria, [](const auto& one) { return one.verdict != judge::Verdict::Pass || !one.isFinal(); });
    REQUIRE_FALSE(criteria.empty());
    std::erase_if(example.plan.criteria, [&](const plan::Criterion& criterion) {
      return std::ranges::none_of(criteria, [&](const auto& one) { return one.name == criterion.name; });
    });
    example.judgement.missing.clear();
    for (const char* name : {"here", "there"}) sides.push_back({name, example.results, example.judgement});
  }
};

TEST_CASE("conclusions that hold again are a pass, and none where something has no value elsewhere") {
  Twice twice;
  Document document = conclusions(twice.example.plan, twice.sides);
  CHECK(document.exit_code == 0);
  CHECK(markdown(document).starts_with("### ✅ study precision: conclusions of here on there"));
  twice.sides[1].judgement.missing = {{"timed gpus=2", plan::because({plan::Reason::NotRun}), judge::Verdict::NotRun}};
  document = conclusions(twice.example.plan, twice.sides);
  CHECK(document.exit_code == 4);
  CHECK(markdown(document).find("✅") == std::string::npos);
  CHECK(text(document, 100, false).find("NOT RUN timed gpus=2 on there: it was not run") != std::string::npos);
}

TEST_CASE("a value that is infinite is one of a course, in text and in JSON") {
  describe::Course course{"epochs", "precision=fp64", "", "", plan::Direction::Lower, "class"};
  for (const double median : {1.0, 3.0, double(INFINITY)})
    course.stays.push_back({0, 0, 1, "node", "build", "", 1, median});
  const Document document = bySession(report::exampleResults().plan, {"results"}, {course}, true);
  CHECK(text(document, 100, false).find("epochs at precision=fp64: 3 sessions, inf now\n      ▁▁█\n") !=
        std::string::npos);
  CHECK(base::canonicalJson(json(document)).find("\"median\":\"inf\"") != std::string::npos);
}

TEST_CASE("timeouts of the newest session are shown, and sessions that were all disturbed leave the answer open") {
  describe::Course course{"time", "precision=fp64", "s", "time", plan::Direction::Lower, "class"};
  course.stays = {{.session = 1, .n = 4, .median = 1}, {.session = 2, .n = 4, .median = INFINITY, .timeouts = 3}};
  const plan::Plan plan = report::exampleResults().plan;
  Document document = bySession(plan, {"results"}, {course}, false);
  CHECK(document.exit_code == 0);
  CHECK(text(document, 100, false).find("timed out: 3 trials in 1 session, 3 of 4 in the newest\n") !=
        std::string::npos);
  CHECK(base::canonicalJson(json(document)).find("\"timeouts\":3") != std::string::npos);
  course.gaps = 2;
  course.lost = {{.session = 3, .reason = "others took its cores", .disturbed = true}};
  document = bySession(plan, {"results"}, {course}, false);
  CHECK(document.exit_code == 4);
  const std::string said = text(document, 120, false);
  CHECK(said.find("; 2 earlier sessions without a value\n") != std::string::npos);
  CHECK(said.find("1 session since then without a value: every trial was disturbed: others took its cores\n") !=
        std::string::npos);
  CHECK(said.find("3 of 4 in the newest that has a value\n") != std::string::npos);
  course.lost.insert(course.lost.begin(), {.session = 4, .reason = "no memory"});
  document = bySession(plan, {"results"}, {course}, false);
  CHECK(document.exit_code == 6);
  CHECK(text(document, 120, false).find("2 sessions since then without a value: no memory\n") != std::string::npos);
}

TEST_CASE("a newest session that is outlying for worse is shown and leaves the answer open, and a drift is no step") {
  describe::Course course{"time", "precision=fp64", "s", "time", plan::Direction::Lower, "class"};
  for (int i = 0; i < 12; ++i) course.stays.push_back({.session = i, .n = 4, .median = i < 11 ? 1 : 1.2});
  course.outlying = {1, 1, true};
  const plan::Plan plan = report::exampleResults().plan;
  Document document = bySession(plan, {"results"}, {course}, false);
  CHECK(document.exit_code == 4);
  std::string said = text(document, 300, false);
  CHECK(said.find("0 of 1 values changed level") != std::string::npos);
  CHECK(said.find("; 1 outlying in the newest session") != std::string::npos);
  CHECK(said.find("outlying, worse: the newest session lies beyond all others: 1.20 s, where their median is 1.00 s") !=
        std::string::npos);
  CHECK(markdown(document).find("outlying, worse") != std::string::npos);
  CHECK(base::canonicalJson(json(document)).find("\"outlying\":{\"sessions\":1,\"usual\":1,\"worse\":true}") !=
        std::string::npos);
  course.outlying->worse = false;
  CHECK(bySession(plan, {"results"}, {course}, false).exit_code == 0);
  course.outlying.reset();
  course.drift = {0.002, 1, 1.1, true};
  document = bySession(plan, {"results"}, {course}, false);
  CHECK(document.exit_code == 0);
  said = text(document, 300, false);
  CHECK(said.find("; 1 with a drift") != std::string::npos);
  CHECK(said.find("drift or step, worse: 1.00 s → 1.10 s") != std::string::npos);
  CHECK(said.find("these sessions cannot show whether it is a drift or a step") != std::string::npos);
  CHECK(base::canonicalJson(json(document)).find("\"or_step\":true") != std::string::npos);
}

}  // namespace
}  // namespace expc::exports
