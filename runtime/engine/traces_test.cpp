#include "runtime/engine/traces.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/engine/run.h"

using namespace expc;
using namespace expc::engine;

TEST_CASE("the first profile trial of each point is traced, and nothing else") {
  const TestFolder folder;
  const plan::Plan plan = nullPlan(2, 1);
  const std::string at = folder.path + "/new/traces";
  Traces traces(at);
  REQUIRE_FALSE(bool(traces.prepare()));
  CHECK(std::filesystem::is_directory(at));
  const plan::Point &one = plan.points[0], &two = plan.points[1];
  using plan::TrialKind;
  CHECK(traces.variable(TrialKind::Timed, plan, one, 1).empty());
  CHECK(traces.variable(TrialKind::Quality, plan, one, 1).empty());
  CHECK(traces.variable(TrialKind::Profile, plan, one, 7) == "EXPC_TRACE=" + at + "/step=1ms.trial7");
  traces.ended(TrialKind::Timed, plan, one, 6, true);
  CHECK(traces.summary(plan).find("has no profile trials") != std::string::npos);
  traces.ended(TrialKind::Profile, plan, one, 7, false);
  CHECK(traces.summary(plan) == "--trace: nothing was traced, because no profile trial was valid");
  CHECK_FALSE(traces.variable(TrialKind::Profile, plan, one, 8).empty());
  traces.ended(TrialKind::Profile, plan, one, 8, true);  // its disk was full, say
  CHECK(traces.summary(plan) == "--trace: 1 point left no trace; the notes in the report explain why");
  CHECK_FALSE(traces.variable(TrialKind::Profile, plan, one, 9).empty());
  std::ofstream(at + "/step=1ms.trial9.rank0.json") << "{}";
  traces.ended(TrialKind::Profile, plan, one, 9, true);
  CHECK(traces.variable(TrialKind::Profile, plan, one, 10).empty());
  CHECK_FALSE(traces.variable(TrialKind::Profile, plan, two, 10).empty());
  CHECK(traces.summary(plan).find("traces of 1 point are in " + at) == 0);
  CHECK(traces.summary(plan).find("left no trace") == std::string::npos);
  traces.ended(TrialKind::Profile, plan, two, 10, true);
  CHECK(traces.summary(plan).find("; 1 point left no trace") != std::string::npos);
}

TEST_CASE("names of files hold nothing that a shell or file system minds") {
  plan::Plan plan = nullPlan(1, 1);
  plan.factors[0].levels[0].label = "../../a b/\"'" + std::string(300, 'x');
  const std::string variable = Traces("/t").variable(plan::TrialKind::Profile, plan, plan.points[0], 3);
  CHECK(variable.find("EXPC_TRACE=/t/step=.._.._a_b___xxx") == 0);
  CHECK(variable.size() < 180);
}

TEST_CASE("traces that cannot be, and none at all, are said") {
  const TestFolder folder;
  std::ofstream(folder.path + "/file") << "here";
  llvm::Error error = Traces(folder.path + "/file/below").prepare();
  REQUIRE(bool(error));
  CHECK(llvm::toString(std::move(error)).find("--trace " + folder.path + "/file/below: Not a directory") == 0);
  plan::Plan plan = nullPlan(1, 1);
  CHECK_FALSE(bool(Traces("").prepare()));
  CHECK(Traces("").summary(plan).empty());
  CHECK(Traces("").variable(plan::TrialKind::Profile, plan, plan.points[0], 1).empty());
  CHECK(Traces("/t").summary(plan).find("has no profile trials") != std::string::npos);
  plan.design.kinds[0].kind = plan::TrialKind::Profile;
  CHECK(Traces("/t").summary(plan).find("all profile trials are stored") != std::string::npos);

  // A run reports the same.
  EngineOptions options = optionsFor(folder);
  options.traces = folder.path + "/traces";
  const Ran outcome = runPlan(nullPlan(1, 1), options);
  REQUIRE_FALSE(outcome.messages.empty());
  CHECK(outcome.messages.back().find("--trace: nothing was traced") == 0);
  const Ran again = runPlan(nullPlan(1, 1), options);
  CHECK(again.messages.back().find("--trace: nothing was traced") == 0);
  options.traces = folder.path + "/file";
  ProgressListener listener;
  auto refused = run(nullPlan(1, 1), options, listener);
  REQUIRE_FALSE(bool(refused));
  CHECK(llvm::toString(refused.takeError()).find("--trace") == 0);
}
