#include "runtime/engine/process_state.h"

#include <fmt/format.h>
#include <unistd.h>

#include "runtime/base/process.h"

namespace expc::engine {
namespace {

constexpr int kLooks = 500;
constexpr useconds_t kBetween = 10'000;  // 5 s in all

}  // namespace

char processState(pid_t pid, const std::string& proc) {
  const base::Process process = pid > 0 ? base::processOf(pid, proc) : base::Process();
  return process.runs() ? process.state : '\0';
}

bool waitUntilGone(pid_t pid, const std::string& proc) {
  for (int look = 1; processState(pid, proc) != '\0'; ++look) {
    if (look == kLooks) return false;
    usleep(kBetween);
  }
  return true;
}

std::string stuckText(pid_t pid, const std::string& proc) {
  const char state = processState(pid, proc);
  if (state == '\0') return fmt::format("process {}", pid);
  return fmt::format("process {}, in state {}{}", pid, state,
                     state == 'D' ? " (it waits for a device or a file system that does not answer)" : "");
}

}  // namespace expc::engine
