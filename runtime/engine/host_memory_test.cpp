#include "runtime/engine/host_memory.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "runtime/engine/rank.h"
#include "runtime/engine/test_run.h"

using namespace expc::engine;

TEST_CASE("the kernel's count of those it killed for memory") {
  const TestFolder folder;
  const std::string path = folder.path + "/vmstat";
  CHECK(!outOfMemoryKills(path));
  std::ofstream(path) << "nr_free_pages 100\noom_kill 3\nnuma_hit 5\n";
  CHECK(outOfMemoryKills(path) == 3);
  std::ofstream(path) << "nr_free_pages 100\noom_kill_disabled 3\n";
  CHECK(!outOfMemoryKills(path));
  std::ofstream(path) << "what is this\n";
  CHECK(!outOfMemoryKills(path));
}

TEST_CASE("a killed rank names memory as the cause only where the kernel counted one") {
  const auto reasonOf = [](std::optional<bool> memory_ran_out) {
    Rank rank(0, 1, -1, "log");
    rank.exited(SIGKILL, memory_ran_out);
    return rank.reason;
  };
  CHECK(reasonOf(true) == "was killed by the kernel: the memory of this host ran out, which all ranks share");
  CHECK(reasonOf(false) == "was killed by signal 9 (Killed)");
  CHECK(reasonOf(std::nullopt) ==
        "was killed by signal 9 (Killed); if nobody did that by hand, the kernel ran out of memory");
}
