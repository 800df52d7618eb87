#include "tests/fuzz/groups.h"

#include "runtime/base/control_group.h"
#include "runtime/base/llvm.h"
#include "tests/fuzz/folder.h"

namespace expc::fuzz {

void readGroups(const std::string& bytes) {
  const std::string root = emptyFolder();
  const auto [groups, rest] = StringRef(bytes).split('\f');
  const auto [mounts, limit] = rest.split('\f');
  write(root + "/proc/self/cgroup", groups.str());
  write(root + "/proc/self/mountinfo", mounts.str());
  for (const char* file : {"cpu.max", "memory.max", "cpu.cfs_quota_us", "cpu.cfs_period_us", "memory.limit_in_bytes"})
    write(root + "/g/" + file, limit.str());
  hold(base::cpuLimit(root) >= 0, "a limit of CPUs is not negative");
  (void)base::memoryLimit(root);
  for (const char* controller : {"cpu", "memory"}) {
    const base::ControlGroup group = base::controlGroup(controller, root);
    hold(group.folder.starts_with(group.mount), "a group lies below its mount");
  }
}

}  // namespace expc::fuzz
