#include "runtime/engine/launch/rank_process.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <memory>

#include "runtime/base/files/files.h"
#include "runtime/engine/launch/local_launcher.h"

using namespace expc;
using namespace expc::engine::launch;

namespace {

RankProcess processOf(uint64_t launch, uint64_t memory_limit) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  close(ends[1]);
  RankProcess process;
  process.launch = launch;
  process.channel = base::Descriptor(ends[0]);
  process.place.memory_limit = memory_limit;
  return process;
}

/// Runs trials of commands on a LocalLauncher.
class Commands {
 public:
  Commands() : launcher_(llvm::cantFail(launcherHere(workers(), [](const std::string&) {}))) {}

  uint64_t start(const std::string& script, uint64_t memory_limit = 0) {
    TrialRequest request;
    request.spec.trial = "1";
    request.spec.workload = "tool";
    request.spec.command.emplace().arguments = {"/bin/sh", "-c", script};
    request.spec.folder = folder_.path() + "/trial";
    request.spec.root = folder_.path();
    request.spec.metrics = {"wall"};
    request.spec.memory_limit = memory_limit;
    request.spec.slots.push_back(llvm::json::Object{{"device", "cpu"}});
    request.environment = {{"PATH=/usr/bin:/bin"}};
    request.log_prefix = folder_.path() + "/log";
    return llvm::cantFail(launcher_->start(request));
  }
  /// Waits for the exit of the trial's rank.
  RankReport end(uint64_t trial) {
    while (true)
      for (RankReport& report : llvm::cantFail(launcher_->events(Clock::real().boot() + 10, -1)))
        if (report.trial == trial && report.what == RankReport::What::Exited) return std::move(report);
  }
  /// Runs a trial that ends well and returns the number of its process.
  int process(uint64_t memory_limit = 0) {
    const RankReport report = end(start("true", memory_limit));
    CHECK(report.status == 0);
    return report.pid;
  }
  void kill(uint64_t trial) { launcher_->kill(trial); }

 private:
  LocalWorkers workers() const { return {"", EXPC_COMMAND_WORKER, {}, folder_.path() + "/workers.log"}; }

  files::TemporaryFolder folder_;
  std::unique_ptr<Launcher> launcher_;
};

bool isGone(int pid) {
  for (int i = 0; i < 500 && kill(pid, 0) == 0; ++i) usleep(10000);
  return kill(pid, 0) != 0;
}

constexpr uint64_t kLimit = 1ull << 30;

}  // namespace

TEST_CASE("of the processes that wait one is taken that is bound alike, and the oldest goes where too many wait") {
  WaitingProcesses waiting;
  waiting.add(processOf(1, 10));
  waiting.add(processOf(2, 20));
  CHECK(!waiting.take(processOf(0, 30).place));
  auto second = waiting.take(processOf(0, 20).place);
  REQUIRE(second);
  CHECK(second->launch == 2);
  CHECK(second->launches == 2);
  CHECK(!waiting.take(second->place));
  second->launches = 500;
  const ProcessPlace worn = second->place;
  waiting.add(std::move(*second));
  CHECK(!waiting.take(worn));
  waiting.drop(1);
  CHECK(!waiting.take(processOf(0, 10).place));
  for (uint64_t i = 1; i <= 17; ++i) waiting.add(processOf(i, i));
  CHECK(!waiting.take(processOf(0, 1).place));
  CHECK(waiting.take(processOf(0, 2).place));
}

TEST_CASE("a command's process runs the next one that is bound alike, and another takes over where it is gone") {
  Commands commands;
  const int first = commands.process();
  CHECK(commands.process() == first);
  const int limited = commands.process(kLimit);
  CHECK(limited != first);
  CHECK(commands.process() == first);
  CHECK(commands.process(kLimit) == limited);
  kill(first, SIGKILL);
  CHECK(isGone(first));
  const int second = commands.process();
  CHECK(second != first);
  CHECK(commands.process() == second);
  CHECK(WEXITSTATUS(commands.end(commands.start("exit 3")).status) == 1);
  CHECK(isGone(second));
  const int third = commands.process();
  CHECK(third != second);
  const uint64_t sleeps = commands.start("sleep 60");
  commands.kill(sleeps);
  CHECK(WTERMSIG(commands.end(sleeps).status) == SIGKILL);
  CHECK(commands.process() != third);
}
