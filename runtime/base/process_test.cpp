#include "runtime/base/process.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <tuple>

#include "tests/support/folder.h"

namespace expc::base {

TEST_CASE("a process is known by its parent and its start") {
  const Process own = processOf(getpid());
  CHECK(own.runs());
  CHECK(own.parent == getppid());
  CHECK(own.started == processOf(getpid()).started);
  CHECK(own.started > 0);
  CHECK_FALSE(processOf(0).runs());
  CHECK(!bootId().empty());
}

TEST_CASE("a process may be called anything, and one that has ended does not run") {
  const test::TestFolder folder;
  const std::string proc = folder.path, rest = " 7 1 1 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 4711 9 9";
  const auto write = [&](const char* pid, const std::string& text) {
    std::filesystem::create_directory(proc + "/" + pid);
    std::ofstream(proc + "/" + pid + "/stat") << text;
  };
  write("12", "12 (a) S 1 (b) R" + rest);
  write("13", "13 (a) Z" + rest);
  write("14", "14 (a");
  const Process odd = processOf(12, proc);
  CHECK(odd.state == 'R');
  CHECK(odd.parent == 7);
  CHECK(odd.started == 4711);
  CHECK_FALSE(processOf(13, proc).runs());
  CHECK(processOf(13, proc).parent == 7);
  CHECK_FALSE(processOf(14, proc).runs());
  std::filesystem::remove_all(proc);
}

TEST_CASE("a family is whole where the kernel does not tell children, but its processor time is unknown") {
  const test::TestFolder folder;
  const std::string proc = folder.path;
  const auto process = [&](int pid, int parent) {
    const std::string own = proc + "/" + std::to_string(pid), task = own + "/task/" + std::to_string(pid);
    std::filesystem::create_directories(task);
    std::ofstream(own + "/stat") << pid << " (a) S " << parent << " 1 1 0 -1 0 0 0 0 0 100 0 0 0 20 0 1 0 1 9 9";
    return task + "/children";
  };
  process(21, 30);  // a child may have a lower number than its parent
  process(30, 20);
  process(20, 1);
  process(40, 1);
  std::filesystem::create_directory(proc + "/self");
  const Family hidden = familyOf(20, proc);
  CHECK(hidden.pids == std::set<int>{20, 21, 30});
  CHECK_FALSE(hidden.cpu_seconds);
  for (const auto& [pid, parent, children] : {std::tuple(20, 1, "30"), {30, 20, "21"}, {21, 30, ""}})
    std::ofstream(process(pid, parent)) << children;
  const Family told = familyOf(20, proc);
  CHECK(told.pids == hidden.pids);
  CHECK(told.cpu_seconds == 300.0 / double(sysconf(_SC_CLK_TCK)));
}

}  // namespace expc::base
