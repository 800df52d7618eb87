#include "runtime/worker/serve/standing.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "runtime/base/descriptor.h"
#include "runtime/base/process.h"

namespace expc::serve {
namespace {

constexpr char kKiller[] = "/proc/self/oom_score_adj";
constexpr int kOwnIo = 1;  // IOPRIO_WHO_PROCESS: glibc has no name for it

struct Schedule {
  int policy = 0;
  sched_param parameters{};
};
using Limits = std::array<rlimit, RLIM_NLIMITS>;

template <typename Value>
std::string bytesOf(const Value& value) {
  static_assert(std::is_trivially_copyable_v<Value>);
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

template <typename Value>
Value valueOf(std::string_view bytes) {
  Value value{};
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

/// One of them: how it is read, as bytes, and put back.
struct Trait {
  const char* name;
  std::string (*read)();
  bool (*write)(const std::string& bytes);
};

const Trait kTraits[] = {
    {"niceness", [] { return bytesOf(getpriority(PRIO_PROCESS, 0)); },
     [](const std::string& bytes) { return setpriority(PRIO_PROCESS, 0, valueOf<int>(bytes)) == 0; }},
    {"scheduling policy",
     [] {
       Schedule schedule;
       schedule.policy = sched_getscheduler(0);
       sched_getparam(0, &schedule.parameters);
       return bytesOf(schedule);
     },
     [](const std::string& bytes) {
       const auto schedule = valueOf<Schedule>(bytes);
       return sched_setscheduler(0, schedule.policy, &schedule.parameters) == 0;
     }},
    {"I/O priority", [] { return bytesOf(syscall(SYS_ioprio_get, kOwnIo, 0)); },
     [](const std::string& bytes) { return syscall(SYS_ioprio_set, kOwnIo, 0, valueOf<long>(bytes)) == 0; }},
    {"limits",
     [] {
       Limits limits{};
       for (int which = 0; which < RLIM_NLIMITS; ++which) getrlimit(__rlimit_resource_t(which), &limits[which]);
       return bytesOf(limits);
     },
     [](const std::string& bytes) {
       const auto limits = valueOf<Limits>(bytes);
       bool all = true;
       for (int which = 0; which < RLIM_NLIMITS; ++which)
         all &= setrlimit(__rlimit_resource_t(which), &limits[which]) == 0;
       return all;
     }},
    {"cores",
     [] {
       cpu_set_t cores;
       CPU_ZERO(&cores);
       sched_getaffinity(0, sizeof cores, &cores);
       return bytesOf(cores);
     },
     [](const std::string& bytes) {
       const auto cores = valueOf<cpu_set_t>(bytes);
       return sched_setaffinity(0, sizeof cores, &cores) == 0;
     }},
    {"timer slack", [] { return bytesOf(prctl(PR_GET_TIMERSLACK)); },
     [](const std::string& bytes) { return prctl(PR_SET_TIMERSLACK, valueOf<int>(bytes)) == 0; }},
    {"score for the memory killer", [] { return base::readText(kKiller).value_or(""); },
     [](const std::string& text) {
       const base::Descriptor file(::open(kKiller, O_WRONLY | O_CLOEXEC));
       return file >= 0 && ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
     }},
    {"control group", [] { return base::readText("/proc/self/cgroup").value_or(""); },
     [](const std::string&) { return false; }},
};

}  // namespace

Standing Standing::ofThisProcess() {
  Standing standing;
  for (const Trait& trait : kTraits) standing.values_.push_back(trait.read());
  return standing;
}

std::string Standing::restore() const {
  std::string left;
  for (size_t i = 0; i < values_.size(); ++i) {
    const Trait& trait = kTraits[i];
    if (trait.read() == values_[i] || (trait.write(values_[i]) && trait.read() == values_[i])) continue;
    left += (left.empty() ? "" : ", ") + std::string(trait.name);
  }
  return left;
}

}  // namespace expc::serve
