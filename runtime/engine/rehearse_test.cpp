// Rehearsals on made-up null cards, with the null worker.

#include "runtime/engine/rehearse.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "runtime/store/lease.h"
#include "tests/support/engine/run.h"
#include "tests/support/text/has.h"

using namespace expc;
using namespace expc::engine;
using rehearsal::Outcome;

namespace {

/// Two null cards.
struct NullCards {
  NullCards() {
    setenv("EXPC_NVML_LIBRARY", EXPC_FAKE_NVML, 1);
    setenv("EXPC_FAKE_UUID", "GPU-6e756c6c-000", 1);
  }
  ~NullCards() {
    unsetenv("EXPC_NVML_LIBRARY");
    unsetenv("EXPC_FAKE_UUID");
  }
};

RehearsalOptions rehearsalIn(const TestFolder& folder) {
  RehearsalOptions options;
  static_cast<Resources&>(options) = optionsFor(folder);
  options.results = folder.path + "/results";
  options.null_gpus = machine::NullGpus{};
  return options;
}

RehearsalOutcome rehearsePlan(const plan::Plan& plan, const RehearsalOptions& options) {
  ProgressListener listener;
  auto outcome = rehearse(plan, options, listener);
  if (!outcome) FAIL(llvm::toString(outcome.takeError()));
  return std::move(*outcome);
}

std::string errorOf(const plan::Plan& plan, const RehearsalOptions& options) {
  ProgressListener listener;
  auto outcome = rehearse(plan, options, listener);
  REQUIRE(!outcome);
  return llvm::toString(outcome.takeError());
}

plan::Plan withFault(const char* fault) {
  plan::Plan plan = nullPlan(1, 1);
  plan.points[0].parameters["fault"] = fault;
  return plan;
}

using expc::test::has;

}  // namespace

TEST_CASE("every point is launched once and what it did is kept, outside of the store") {
  const TestFolder folder;
  const NullCards cards;
  const RehearsalOptions options = rehearsalIn(folder);
  plan::Plan plan = nullPlan(2, 7);
  plan.points[0].parameters["gpus"] = 2;
  plan.points[0].estimates = {{"device_memory_peak", 1e9}};
  plan.points[1].expected_infeasible = "too large";  // what it is about is tried all the same
  const RehearsalOutcome outcome = rehearsePlan(plan, options);
  CHECK(outcome.rehearsed == 2);
  CHECK(outcome.kept == 0);
  const rehearsal::Study kept = llvm::cantFail(rehearsal::read(options.results, "test"));
  REQUIRE(kept.points.size() == 2);
  const rehearsal::Point& first = kept.points[0];
  CHECK((first.outcome == Outcome::Runs));
  CHECK(first.label == "step=1ms");
  CHECK(first.cards.count == 2);
  CHECK(first.cards.memory > 0);
  CHECK(!first.worker_build.empty());
  CHECK(first.estimates == plan.points[0].estimates);
  REQUIRE(first.rehearsed);
  CHECK(first.rehearsed->steps == 2);
  CHECK(first.rehearsed->ranks.size() == 2);
  CHECK((kept.points[1].outcome == Outcome::Runs));
  CHECK(!std::filesystem::exists(options.results + "/journal"));
}

TEST_CASE("what runs is rehearsed again only by another worker, on other cards, or when asked for") {
  const TestFolder folder;
  const NullCards cards;
  RehearsalOptions options = rehearsalIn(folder);
  const plan::Plan plan = nullPlan(2, 1);
  const auto redone = [&] {
    const RehearsalOutcome outcome = rehearsePlan(plan, options);
    CHECK(outcome.rehearsed + outcome.kept == 2);
    CHECK(outcome.study.points.size() == 2);
    return outcome.rehearsed;
  };
  CHECK(redone() == 2);
  CHECK(redone() == 0);
  options.devices = "1";
  CHECK(redone() == 2);
  options.again = true;
  CHECK(redone() == 2);
  options.again = false;
  rehearsal::Study known = llvm::cantFail(rehearsal::read(options.results, "test"));
  known.points[1].worker_build = "another";
  llvm::cantFail(rehearsal::write(options.results, known));
  CHECK(redone() == 1);
}

TEST_CASE("what fails is a result with its reason, and is tried again") {
  const TestFolder folder;
  const NullCards cards;
  RehearsalOptions options = rehearsalIn(folder);
  options.timeout_seconds = 2;
  struct Case {
    const char* fault;
    Outcome outcome;
    const char* reason;
    unsigned again;
  };
  for (const Case& expected :
       {Case{"out_of_memory", Outcome::DoesNotFit, "out of memory, as asked", 0},
        Case{"host_out_of_memory", Outcome::Failed, "this machine's own memory does not suffice", 1},
        Case{"refuse", Outcome::Failed, "null.idle was asked to fail", 1},
        Case{"exit", Outcome::Failed, "exited with code 7", 1}, Case{"abort", Outcome::Failed, "killed by signal 6", 1},
        Case{"hang", Outcome::Failed, "not finished after 2 s (--timeout sets another", 1},
        Case{"missing_metric", Outcome::Failed, "has no rehearsal", 1}}) {
    CAPTURE(expected.fault);
    const plan::Plan plan = withFault(expected.fault);
    options.again = true;
    const RehearsalOutcome outcome = rehearsePlan(plan, options);
    REQUIRE(outcome.study.points.size() == 1);
    CHECK((outcome.study.points[0].outcome == expected.outcome));
    CHECK_MESSAGE(has(outcome.study.points[0].reason, expected.reason), outcome.study.points[0].reason);
    options.again = false;
    if (std::string_view(expected.fault) != "hang") CHECK(rehearsePlan(plan, options).rehearsed == expected.again);
  }
}

TEST_CASE("missing data is said of the points that read it and of no other") {
  const TestFolder folder;
  const NullCards cards;
  plan::Plan plan = nullPlan(2, 1);
  plan.root = folder.path;
  plan.data_paths = {"rows.jsonl"};
  plan.points[1].parameters["data"] = llvm::json::Object{{"folder", llvm::json::Array{"rows.jsonl"}}};
  RehearsalOutcome outcome = rehearsePlan(plan, rehearsalIn(folder));
  CHECK((outcome.study.points[0].outcome == Outcome::Runs));
  CHECK((outcome.study.points[1].outcome == Outcome::LacksData));
  CHECK(outcome.study.points[1].rehearsed);
  CHECK(has(outcome.study.points[1].reason, "'rows.jsonl' is missing (looked for " + folder.path));
  std::ofstream(folder.path + "/rows.jsonl") << "{}";
  outcome = rehearsePlan(plan, rehearsalIn(folder));
  CHECK(outcome.rehearsed == 1);
  CHECK((outcome.study.points[1].outcome == Outcome::Runs));
}

TEST_CASE("commands and points that want more cards are left out, with the reason") {
  const TestFolder folder;
  const NullCards cards;
  plan::Plan plan = nullPlan(3, 1);
  plan.points[0].parameters["gpus"] = 3;
  plan.points[1].workload = 1;
  plan.points[1].parameters.erase("gpus");
  plan.workloads.push_back({"", "train", 1, plan::Command{{"true"}, {}, {}, {}}});
  const RehearsalOutcome outcome = rehearsePlan(plan, rehearsalIn(folder));
  REQUIRE(outcome.study.points.size() == 3);
  CHECK(outcome.study.points[0].reason == "needs 3 devices, there are 2");
  CHECK(outcome.study.points[1].reason ==
        "a command without a parameter 'gpus' is given no GPU: declare `param gpus : int in 1..1 = 1`");
  CHECK((outcome.study.points[1].outcome == Outcome::NotRehearsed));
  CHECK((outcome.study.points[2].outcome == Outcome::Runs));
  CHECK(outcome.rehearsed == 1);
}

TEST_CASE("fewer cards do not take away what more have shown") {
  const TestFolder folder;
  const NullCards cards;
  plan::Plan plan = nullPlan(1, 1);
  plan.points[0].parameters["gpus"] = 2;
  RehearsalOptions options = rehearsalIn(folder);
  rehearsePlan(plan, options);
  options.devices = "1";
  CHECK((rehearsePlan(plan, options).study.points[0].outcome == Outcome::NotRehearsed));
  CHECK((llvm::cantFail(rehearsal::read(options.results, "test")).points[0].outcome == Outcome::Runs));
}

TEST_CASE("what refuses a rehearsal leaves what is there alone") {
  const TestFolder folder;
  const NullCards cards;
  RehearsalOptions options = rehearsalIn(folder);
  const plan::Plan plan = nullPlan(1, 1);
  options.worker = folder.path + "/nothing";
  CHECK(has(errorOf(plan, options), "cannot be started"));
  CHECK(!std::filesystem::exists(options.results));
  options.worker = EXPC_NULL_WORKER;
  plan::Plan other = plan;
  other.workloads[0].name = "llm.finetune";
  CHECK(has(errorOf(other, options), "llm.finetune version 1 is not in this build"));

  const std::string path = llvm::cantFail(rehearsal::pathOf(options.results, "test"));
  std::filesystem::create_directories(rehearsal::folderOf(options.results));
  std::ofstream(path) << "{";
  CHECK(has(errorOf(plan, options), path + ": "));
  CHECK(std::filesystem::file_size(path) == 1);
  std::filesystem::remove(path);

  std::vector<std::string> messages;
  const auto lease = llvm::cantFail(store::Lease::acquire(rehearsal::folderOf(options.results), "rehearse", messages));
  CHECK(has(errorOf(plan, options), "is in use by process"));
}

TEST_CASE("an interrupt keeps what was rehearsed, and the same call goes on") {
  const TestFolder folder;
  const NullCards cards;
  const RehearsalOptions options = rehearsalIn(folder);
  const plan::Plan plan = nullPlan(3, 1);
  /// Interrupts as the second point begins.
  struct Interrupting : ProgressListener {
    unsigned started = 0;
    void trialStarted(const TrialNote& trial) override {
      CHECK(trial.rehearsal);
      CHECK(trial.expected == 3);
      if (++started == 2) raise(SIGINT);
    }
  } listener;
  const RehearsalOutcome outcome = llvm::cantFail(rehearse(plan, options, listener));
  CHECK(outcome.interrupted);
  CHECK(outcome.study.points.size() == 1);
  CHECK(llvm::cantFail(rehearsal::read(options.results, "test")).points.size() == 1);
  const RehearsalOutcome rest = rehearsePlan(plan, options);
  CHECK(!rest.interrupted);
  CHECK(rest.kept == 1);
  CHECK(rest.rehearsed == 2);
}
