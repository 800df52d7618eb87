// Checks how the measurements of ranks become those of their trial.

#include "runtime/worker/command/ranks.h"

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "runtime/base/files/files.h"
#include "runtime/plan/command.h"

using namespace expc;
using namespace expc::command;

namespace {

ProgramEnd endOf(double began, double wall, double cpu, uint64_t peak) {
  ProgramEnd end;
  end.began_seconds = began;
  end.wall_seconds = wall;
  end.cpu_seconds = cpu;
  end.peak_bytes = peak;
  end.least_peak = peak / 4;
  return end;
}

}  // namespace

TEST_CASE("a trial of ranks lasts from the first start to the last end, and takes what all take") {
  const files::TemporaryFolder folder;
  std::filesystem::create_directories(plan::outputsOf(folder.path()));
  REQUIRE(!leaveEnd(folder.path(), 1, "7", endOf(9.5, 3, 0.5, 400)));
  REQUIRE(!leaveEnd(folder.path(), 2, "7", endOf(100, 1, 0.25, 200)));  // clocks of other nodes tell other times
  REQUIRE(!leaveEnd(folder.path(), 3, "7", endOf(101, 4.5, 0.25, 100)));
  ProgramEnd end = endOf(10, 1, 1, 300);
  SUBCASE("one node") {
    REQUIRE(!joinEnds(folder.path(), 2, 2, "7", end));
    CHECK(end.wall_seconds == 3);
    CHECK(end.cpu_seconds == 1.5);
  }
  SUBCASE("two nodes: the longer one counts") {
    REQUIRE(!joinEnds(folder.path(), 4, 2, "7", end));
    CHECK(end.wall_seconds == 5.5);
    CHECK(end.cpu_seconds == 2);
  }
  CHECK(end.peak_bytes == 400);
  CHECK(end.least_peak == 100);
}

TEST_CASE("an end of an earlier trial in the same folder is passed over") {
  const files::TemporaryFolder folder;
  std::filesystem::create_directories(plan::outputsOf(folder.path()));
  REQUIRE(!leaveEnd(folder.path(), 1, "6", endOf(1, 1, 5, 400)));
  std::jthread rank([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    llvm::cantFail(leaveEnd(folder.path(), 1, "7", endOf(10, 2, 0.5, 200)));
  });
  ProgramEnd end = endOf(10, 1, 1, 300);
  REQUIRE(!joinEnds(folder.path(), 2, 2, "7", end));
  CHECK(end.wall_seconds == 2);
  CHECK(end.cpu_seconds == 1.5);
}

TEST_CASE("measurements that cannot be read are an error with their file") {
  const files::TemporaryFolder folder;
  std::filesystem::create_directories(plan::outputsOf(folder.path()));
  const std::string path = plan::outputOf(folder.path(), "ended.txt", 1);
  REQUIRE(!files::write(path, "{\"began\": 1}"));
  ProgramEnd end;
  CHECK(llvm::toString(joinEnds(folder.path(), 2, 2, "7", end)).find(path) != std::string::npos);
}
