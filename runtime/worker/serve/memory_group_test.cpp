#include "runtime/worker/serve/memory_group.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/folder.h"

using namespace expc::serve;

TEST_CASE("where our own group cannot be seen no group is made") {
  const expc::test::TestFolder root;
  std::filesystem::create_directories(root.path + "/proc/self");
  std::filesystem::create_directories(root.path + "/tmp");
  std::ofstream(root.path + "/proc/self/cgroup") << "4:memory:/no/such/group\n";
  for (const char* of : {"/", "/other"}) {
    std::ofstream(root.path + "/proc/self/mountinfo") << "35 31 0:32 " << of << " /tmp rw - cgroup cgroup rw,memory\n";
    const MemoryGroup group(root.path);
    CHECK(!group.made());
    CHECK(group.kills() == 0);
  }
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
