#include "runtime/base/control_group.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/folder.h"

using namespace expc::base;

namespace {

/// A machine's /proc and /sys as a test writes them.
struct Root : expc::test::TestFolder {
  Root(const std::string& groups, const std::string& mounts) {
    write("/proc/self/cgroup", groups);
    write("/proc/self/mountinfo", mounts);
  }
  void write(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(path + file).parent_path());
    std::ofstream(path + file) << text;
  }
};

const std::string kSecond = "41 31 0:38 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw\n";
const std::string kCpu = "33 31 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n";
const std::string kMemory = "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";

}  // namespace

TEST_CASE("what a group of version 2 or one above it limits is the least of them") {
  const Root root("0::/slice/job/step\n", kSecond);
  CHECK(cpuLimit(root.path) == 0);
  CHECK(memoryLimit(root.path) == 0);
  root.write("/sys/fs/cgroup/slice/cpu.max", "50000 100000\n");
  root.write("/sys/fs/cgroup/slice/job/cpu.max", "max 100000\n");
  root.write("/sys/fs/cgroup/slice/job/step/cpu.max", "200000 100000\n");
  root.write("/sys/fs/cgroup/slice/job/memory.max", "314572800\n");
  root.write("/sys/fs/cgroup/slice/job/step/memory.max", "max\n");
  CHECK(cpuLimit(root.path) == 0.5);
  CHECK(memoryLimit(root.path) == 300 << 20);
}

TEST_CASE("in version 1 each controller has a tree of its own") {
  const Root root("4:memory:/job\n3:cpu,cpuacct:/job/step\n0::/\n", kCpu + kMemory);
  root.write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  root.write("/sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "150000\n");
  root.write("/sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
  root.write("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9223372036854771712\n");
  CHECK(cpuLimit(root.path) == 1.5);
  CHECK(memoryLimit(root.path) == 0);
  root.write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "1073741824\n");
  CHECK(memoryLimit(root.path) == 1 << 30);
}

TEST_CASE("a container sees its own part of the tree, or only the groups above its own") {
  const std::string over = "36 35 0:32 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
  const Root inner("4:memory:/docker/abc/inner\n", kMemory + over);  // the second mount hides the first
  CHECK(controlGroup("memory", inner.path).folder == inner.path + "/sys/fs/cgroup/memory/inner");
  CHECK(controlGroup("memory", inner.path).own);
  CHECK(controlGroup("cpu", inner.path).folder.empty());
  for (const char* elsewhere : {"/docker/abcd", "/other", "/docker/abc/../x"}) {
    const Root root("4:memory:" + std::string(elsewhere) + "\n", over);
    root.write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "4096\n");
    CHECK(!controlGroup("memory", root.path).own);
    CHECK(memoryLimit(root.path) == 4096);
  }
}

TEST_CASE("tables of nonsense give no group") {
  CHECK(controlGroup("memory", Root("", "").path).folder.empty());
  CHECK(controlGroup("memory", Root("4:memory:/job\n", kCpu).path).folder.empty());
  CHECK(controlGroup("memory", Root("4:memory:/job\n", "35\n - \n- cgroup\n\xff\n").path).folder.empty());
  CHECK(controlGroup("memory", Root("memory\n::::\n", kMemory).path).folder.empty());
}
