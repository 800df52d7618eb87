#include "runtime/engine/rank_process.h"

#include <algorithm>
#include <utility>

namespace expc::engine {
namespace {

// Trials that one process runs: few enough that nothing which a library keeps of each adds up.
constexpr unsigned kMostLaunches = 500;
// Processes that wait for another trial, each bound to other cores.
constexpr size_t kMostWaiting = 16;

}  // namespace

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
