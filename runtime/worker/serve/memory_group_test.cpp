#include "runtime/worker/serve/memory_group.h"

#include <doctest/doctest.h>

#include <fstream>

#include "tests/support/folder.h"

using namespace expc::serve;

namespace {

/// The kernel's tables as a test writes them.
struct TestTables : expc::test::TestFolder {
  TestTables(const std::string& groups, const std::string& mounts) {
    std::ofstream(path + "/groups") << groups;
    std::ofstream(path + "/mounts") << mounts;
  }
  OwnGroup own() const { return ownMemoryGroup({path + "/groups", path + "/mounts"}); }
};

}  // namespace

TEST_CASE("the memory group of this process is found in either version") {
  const char* first = "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n";
  const char* second = "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
  const TestTables mixed("8:pids:/\n4:memory:/job/1\n0::/other\n", std::string(second) + first);
  CHECK(mixed.own().folder == "/sys/fs/cgroup/memory/job/1");
  CHECK(!mixed.own().second_version);
  const TestTables unified("0::/user.slice/run-1.scope\n", second);
  CHECK(unified.own().folder == "/sys/fs/cgroup/unified/user.slice/run-1.scope");
  CHECK(unified.own().second_version);
  const TestTables container("4:memory:/docker/abc/inner\n",
                             "35 31 0:32 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  CHECK(container.own().folder == "/sys/fs/cgroup/memory/inner");
  const TestTables root("0::/\n", second);
  CHECK(root.own().folder == "/sys/fs/cgroup/unified");
}

TEST_CASE("tables without a memory group, or of nonsense, give none") {
  CHECK(TestTables("", "").own().folder.empty());
  CHECK(TestTables("4:memory:/job\n", "35 31 0:32 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n")
            .own()
            .folder.empty());
  CHECK(TestTables("4:memory:/job\n", "35\n - \n- cgroup\n\xff\n").own().folder.empty());
  CHECK(TestTables("memory\n::::\n", "35 31 0:32 / /x rw - cgroup cgroup rw,memory\n").own().folder.empty());
  const TestTables nowhere("4:memory:/no/such/group\n", "35 31 0:32 / /tmp rw - cgroup cgroup rw,memory\n");
  const MemoryGroup group({nowhere.path + "/groups", nowhere.path + "/mounts"});
  CHECK(!group.made());
  CHECK(group.kills() == 0);
}

TEST_CASE("the kernel's log names the process that it killed for memory") {
  const std::string record =
      "6,1234,5678,-;Memory cgroup out of memory: Killed process 42 (python3) total-vm:1kB\n SUBSYSTEM=x\n";
  CHECK(killedLine(record, 42) == "Memory cgroup out of memory: Killed process 42 (python3) total-vm:1kB");
  CHECK(!killedLine(record, 4));
  CHECK(!killedLine(record, 142));
  CHECK(!killedLine("6,1,2,-;someone wrote: Killed process 42 (x)\n", 42));
  CHECK(!killedLine("", 42));
}
