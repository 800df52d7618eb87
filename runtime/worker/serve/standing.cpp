// Reads and restores a process's inherited state. Everything is compared after restoring: a call
// may succeed without effect, or fail for a state that was right already.

#include "runtime/worker/serve/standing.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <utility>
#include <vector>

#include "runtime/base/descriptor.h"
#include "runtime/base/process.h"
#include "runtime/base/text.h"

namespace expc::serve {
namespace {

constexpr char kKiller[] = "/proc/self/oom_score_adj";
constexpr int kOwnIo = 1;  // IOPRIO_WHO_PROCESS; glibc has no name for it

}  // namespace

Standing Standing::ofThisProcess() {
  Standing now;
  now.niceness_ = getpriority(PRIO_PROCESS, 0);
  now.policy_ = sched_getscheduler(0);
  now.slack_ = prctl(PR_GET_TIMERSLACK);
  sched_getparam(0, &now.scheduling_);
  now.io_ = syscall(SYS_ioprio_get, kOwnIo, 0);
  for (int which = 0; which < RLIM_NLIMITS; ++which) getrlimit(__rlimit_resource_t(which), &now.limits_[which]);
  sched_getaffinity(0, sizeof now.cores_, &now.cores_);
  static base::KernelFile killer(kKiller), groups("/proc/self/cgroup");
  now.killer_ = killer.text().value_or("");
  now.groups_ = groups.text().value_or("");
  return now;
}

/// Restores only if something differs, so an undisturbed process costs no more than the comparison.
std::string Standing::restore() const {
  const std::string before = differences(ofThisProcess());
  if (before.empty()) return before;
  setpriority(PRIO_PROCESS, 0, niceness_);
  sched_setscheduler(0, policy_, &scheduling_);
  prctl(PR_SET_TIMERSLACK, slack_);
  syscall(SYS_ioprio_set, kOwnIo, 0, io_);
  for (int which = 0; which < RLIM_NLIMITS; ++which) setrlimit(__rlimit_resource_t(which), &limits_[which]);
  sched_setaffinity(0, sizeof cores_, &cores_);
  if (const Descriptor file(open(kKiller, O_WRONLY | O_CLOEXEC)); file >= 0) [[maybe_unused]]
    const ssize_t written = ::write(file, killer_.data(), killer_.size());
  return differences(ofThisProcess());
}

std::string Standing::differences(const Standing& other) const {
  const std::pair<bool, const char*> all[] = {
      {niceness_ != other.niceness_, "niceness"},
      {policy_ != other.policy_ || scheduling_.sched_priority != other.scheduling_.sched_priority, "scheduling policy"},
      {slack_ != other.slack_, "timer slack"},
      {io_ != other.io_, "I/O priority"},
      {std::memcmp(&limits_, &other.limits_, sizeof limits_) != 0, "limits"},
      {!CPU_EQUAL(&cores_, &other.cores_), "cores"},
      {killer_ != other.killer_, "score for the memory killer"},
      {groups_ != other.groups_, "control group"}};
  std::vector<std::string> names;
  for (const auto& [differs, name] : all)
    if (differs) names.emplace_back(name);
  return base::joined(names);
}

}  // namespace expc::serve
