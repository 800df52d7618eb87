// Runs with the null worker on made-up GPUs, null cards among them.

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "runtime/engine/launch/worker_client.h"
#include "runtime/engine/numa.h"
#include "runtime/engine/setup.h"
#include "runtime/engine/trial_request.h"
#include "tests/support/engine/run.h"
#include "tests/support/text/has.h"

using namespace expc;
using namespace expc::engine;

namespace {

/// Sets an environment variable of this process for its lifetime.
struct Variable {
  Variable(const char* name, const std::string& value) : name(name) { setenv(name, value.c_str(), 1); }
  ~Variable() { unsetenv(name); }
  const char* name;
};

/// Makes NVML show two GPUs whose uuids begin with `uuid`.
struct FakeGpus {
  explicit FakeGpus(const char* uuid) : library("EXPC_NVML_LIBRARY", EXPC_FAKE_NVML), uuid("EXPC_FAKE_UUID", uuid) {}
  Variable library, uuid;
};
constexpr const char* kNull = "GPU-6e756c6c-000";
constexpr const char* kReal = "GPU-11111111-000";

std::string contents(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string errorOf(const EngineOptions& options) {
  ProgressListener listener;
  auto outcome = run(nullPlan(1, 1), options, listener);
  REQUIRE(!outcome);
  return llvm::toString(outcome.takeError());
}

using expc::test::has;

/// A worker whose description names this version of CUDA and shows a variable of its environment.
std::string describingWorker(const TestFolder& folder, int cuda) {
  const std::string path = folder.path + "/worker";
  std::ofstream(path) << "#!/bin/sh\necho '{\"v\":1,\"build\":\"b\",\"libraries\":{\"cuda\":" << cuda
                      << ",\"variable\":\"'$EXPC_TEST_VARIABLE'\"},\"workloads\":[]}'\n";
  chmod(path.c_str(), 0755);
  return path;
}

}  // namespace

TEST_CASE("what null cards measured is marked in the store and counts for nothing else") {
  TestFolder folder;
  EngineOptions options = optionsFor(folder);
  const plan::Plan plan = nullPlan(2, 2);
  {
    const FakeGpus gpus(kReal);
    CHECK(runPlan(plan, options).valid == 4);
  }
  const FakeGpus gpus(kNull);
  options.null_gpus = machine::NullGpus{};
  const Ran outcome = runPlan(plan, options);
  CHECK(outcome.null_cards);
  CHECK(outcome.valid == 4);
  CHECK(outcome.reused == 0);
  CHECK(says(outcome, "the GPUs are simulated and compute nothing"));

  std::vector<std::string> messages;
  auto store = llvm::cantFail(store::Store::openForReading(options.results, messages));
  const store::Results null = store.loadLatest(plan, true);
  const store::Results real = store.loadLatest(plan, false);
  REQUIRE(null.trials.size() == 4);
  CHECK(real.trials.size() == 4);
  CHECK(null.onNullCards());
  CHECK(!real.onNullCards());
  CHECK(has(null.trials[0].devices, "\"null\":true"));
  CHECK(!has(real.trials[0].devices, "\"null\":true"));
  REQUIRE(null.sessions.size() == 1);
  CHECK(null.sessions[0].onNullCards());
  CHECK(has(null.sessions[0].environment_json, "\"null\":true"));
}

TEST_CASE("null cards that nobody asked for are not used, and it is said") {
  TestFolder folder;
  const FakeGpus gpus(kNull);
  const EngineOptions options = optionsFor(folder);
  const Ran outcome = runPlan(nullPlan(1, 1), options);
  CHECK(!outcome.null_cards);
  CHECK(says(outcome, "are not used (--null-gpus found uses them)"));
  CHECK(has(resultsOf(nullPlan(1, 1), options).trials.at(0).devices, "\"device\":\"cpu\""));
}

TEST_CASE("a session on GPUs begins with load on all of them, and one that goes on does not") {
  TestFolder folder;
  const FakeGpus gpus(kReal);
  EngineOptions options = optionsFor(folder);
  options.heat_up_seconds = 0.02;
  const Ran outcome = runPlan(nullPlan(1, 1), options);
  CHECK(!says(outcome, "not heated up"));
  for (const char* rank : {"0", "1"}) {
    const std::string log = options.results + "/logs/heat-up." + rank + ".log";
    CHECK(contents(log) == std::string("rank ") + rank + " of 2 is heated up\n");
    std::filesystem::remove(log);
  }
  CHECK(runPlan(nullPlan(2, 1), options).valid == 1);
  CHECK(!std::filesystem::exists(options.results + "/logs/heat-up.0.log"));
}

TEST_CASE("the GPUs of commands are heated up too, and where nothing can do it that is said") {
  TestFolder folder;
  const FakeGpus gpus(kReal);
  plan::Plan plan = nullPlan(1, 1);
  plan.workloads[0].command.emplace();
  plan.workloads[0].command->arguments = {"true"};
  plan.metrics.resize(1);
  plan.metrics[0].name = "wall";
  EngineOptions options = optionsFor(folder);
  options.command_worker = EXPC_COMMAND_WORKER;
  options.heat_up_seconds = 0.02;
  const Ran outcome = runPlan(plan, options);
  CHECK(outcome.valid == 1);
  CHECK(!says(outcome, "cold"));
  CHECK(contents(options.results + "/logs/heat-up.1.log") == "rank 1 of 2 is heated up\n");
  options.results += "-without";
  options.cuda_worker = folder.path + "/expc-worker-cuda";
  const Ran cold = runPlan(plan, options);
  CHECK(cold.valid == 1);
  CHECK(says(cold, "the GPUs start cold: the worker '" + options.cuda_worker + "' cannot be started"));
}

TEST_CASE("GPUs get the worker for GPUs, and without it the way to it is said") {
  TestFolder folder;
  EngineOptions options = optionsFor(folder);
  options.cuda_worker = folder.path + "/expc-worker-cuda";
  CHECK(runPlan(nullPlan(1, 1), options).valid == 1);  // no GPU: it is not looked for
  const FakeGpus gpus(kReal);
  CHECK(has(errorOf(options), "expc-worker-cuda' cannot be started: No such file or directory; `make cuda` builds it"));
}

TEST_CASE("a driver that is too old for the worker's CUDA is refused before anything runs") {
  TestFolder folder;
  const FakeGpus gpus(kReal);
  EngineOptions options = optionsFor(folder);
  options.worker = describingWorker(folder, 13000);
  const Variable old("EXPC_FAKE_CUDA", "12040");
  const std::string why = errorOf(options);
  CHECK(has(why, "the NVIDIA driver 580.00 is too old: it runs CUDA up to 12.4, "));
  CHECK(has(why, "was built for 13.0"));
  options.worker = describingWorker(folder, 12080);  // a newer one of the same major version runs
  CHECK(has(errorOf(options), "is not in this build of worker"));
  CHECK(!std::filesystem::exists(options.results));
}

TEST_CASE("a worker gets variables of its own in the place of this process's") {
  TestFolder folder;
  const std::string worker = describingWorker(folder, 0);
  const Variable own("EXPC_TEST_VARIABLE", "ours");
  const auto variableOf = [&](const launch::Environment& environment) {
    const launch::WorkerDescription description = llvm::cantFail(launch::describeWorker(worker, environment));
    return description.libraries.getAsObject()->getString("variable").value_or("none").str();
  };
  CHECK(variableOf({}) == "ours");
  CHECK(variableOf({"EXPC_TEST_VARIABLE=its", "EXPC_TEST_VARIABLES=others"}) == "its");
}

TEST_CASE("a place that one memory node makes like another is noted") {
  machine::Machine machine;
  machine.nodes = {{0, {0, 1}}};
  CHECK(meansLittle(machine::Placement::Any, machine));
  CHECK(!meansLittle(machine::Placement::Near, machine));
  machine.nodes.push_back({1, {2, 3}});
  CHECK(!meansLittle(machine::Placement::Any, machine));
}
