#include "runtime/engine/launch/rank_process.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "runtime/base/format.h"
#include "runtime/base/process.h"

namespace expc::engine::launch {
namespace {

// Ranks that one process runs: few enough that small things which libraries keep of each do not add up.
constexpr unsigned kMostLaunches = 500;
// Processes that wait at once; each is bound to other cores, and none costs more than its memory.
constexpr size_t kMostWaiting = 16;

// How often, and with which pause (µs), waitUntilGone() looks at a killed process.
constexpr int kLooks = 500;
constexpr useconds_t kBetween = 10'000;  // 5 s in all

}  // namespace

void WaitingProcesses::add(RankProcess process) {
  // Dropping the process closes its channel, which ends it.
  if (process.channel < 0 || process.launches >= kMostLaunches) return;
  processes_.push_back(std::move(process));
  if (processes_.size() > kMostWaiting) processes_.pop_front();
}

std::optional<RankProcess> WaitingProcesses::take(const ProcessPlace& place) {
  const auto found = std::ranges::find(processes_, place, &RankProcess::place);
  if (found == processes_.end()) return std::nullopt;
  RankProcess process = std::move(*found);
  processes_.erase(found);
  ++process.launches;
  return process;
}

void WaitingProcesses::drop(uint64_t launch) {
  std::erase_if(processes_, [&](const RankProcess& process) { return process.launch == launch; });
}

char processState(pid_t pid, const std::string& proc) {
  // A zombie counts as gone: it holds no device any more.
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

}  // namespace expc::engine::launch
