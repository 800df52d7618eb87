// The launcher that docs/how-to-add-a-launcher.md shows, and runs of it.

#include "tests/launchers/shell_launcher.h"

#include <doctest/doctest.h>

#include "tests/support/engine/run.h"

using namespace expc;
using namespace expc::engine;

TEST_CASE("a launcher of shells runs a study of a built-in workload") {
  TestFolder folder;
  EngineOptions options = optionsFor(folder);
  launch::ShellLauncher launcher({"sh -c", "env -u SHELL sh -c"}, EXPC_NULL_WORKER, EXPC_COMMAND_WORKER);
  options.launcher = &launcher;
  const plan::Plan plan = nullPlan(2, 3, /*quality=*/true);
  const Ran outcome = runPlan(plan, options);
  CHECK((outcome.ending == Ending::Complete));
  CHECK(outcome.valid == 8);
  CHECK(runPlan(plan, options).trials == 0);
}

TEST_CASE("a launcher of shells runs a command with its own variables, and tells how it failed") {
  TestFolder folder;
  EngineOptions options = optionsFor(folder);
  options.command_worker = EXPC_COMMAND_WORKER;
  options.attempts = 1;
  launch::ShellLauncher launcher({"sh -c"}, EXPC_NULL_WORKER, EXPC_COMMAND_WORKER);
  options.launcher = &launcher;
  plan::Plan plan = nullPlan(1, 1);
  plan.root = folder.path;
  plan.metrics = {{"wall", "time", "s", plan::Direction::Lower, plan::TrialKind::Timed, false}};
  plan.workloads[0].name = "tool";
  plan.workloads[0].command.emplace();
  plan::Command& command = *plan.workloads[0].command;
  SUBCASE("it runs") {
    command.arguments = {"/bin/sh", "-c",
                         "test \"$$EXPC_SEED\" && test ! \"$$EXPC_NOT_ON_THE_LIST\" && echo \"it's\" > out"};
    setenv("EXPC_NOT_ON_THE_LIST", "1", 1);
    CHECK(runPlan(plan, options).valid == 1);
  }
  SUBCASE("it fails") {
    command.arguments = {"/bin/sh", "-c", "echo 'no such option' >&2; exit 3"};
    CHECK(runPlan(plan, options).failed > 0);
    CHECK(resultsOf(plan, options).trials.at(0).reason == "/bin/sh exited with code 3: no such option");
  }
  SUBCASE("it takes too long") {
    command.arguments = {"/bin/sleep", "60"};
    options.timeout = 0.3;
    CHECK(runPlan(plan, options).timeouts > 0);
  }
}
