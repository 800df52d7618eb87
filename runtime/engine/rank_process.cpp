#include "runtime/engine/rank_process.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

namespace expc::engine {
namespace {

// Trials that one process runs: few enough that nothing which a library keeps of each adds up.
constexpr unsigned kMostLaunches = 500;
// Processes that wait for another trial, each bound to other cores.
constexpr size_t kMostWaiting = 16;

}  // namespace

ProcessPlace ProcessPlace::of(const TrialRequest& request, unsigned rank) {
  return {rank, request.spec.slots, request.spec.memory_limit};
}

bool ProcessPlace::operator==(const ProcessPlace& other) const {
  return rank == other.rank && memory_limit == other.memory_limit && slots == other.slots;
}

RankProcess::RankProcess(RankProcess&& other) noexcept { *this = std::move(other); }

RankProcess& RankProcess::operator=(RankProcess&& other) noexcept {
  launch = other.launch;
  pid = other.pid;
  launches = other.launches;
  place = std::move(other.place);
  std::swap(channel, other.channel);
  return *this;
}

void RankProcess::closeChannel() {
  if (channel >= 0) close(std::exchange(channel, -1));
}

void WaitingProcesses::add(RankProcess process) {
  if (process.channel < 0 || process.launches >= kMostLaunches) return;
  processes_.push_back(std::move(process));
  if (processes_.size() > kMostWaiting) processes_.pop_front();
}

std::optional<RankProcess> WaitingProcesses::take(const ProcessPlace& place) {
  const auto found =
      std::ranges::find_if(processes_, [&](const RankProcess& process) { return process.place == place; });
  if (found == processes_.end()) return std::nullopt;
  RankProcess process = std::move(*found);
  processes_.erase(found);
  ++process.launches;
  return process;
}

void WaitingProcesses::drop(uint64_t launch) {
  std::erase_if(processes_, [&](const RankProcess& process) { return process.launch == launch; });
}

}  // namespace expc::engine
