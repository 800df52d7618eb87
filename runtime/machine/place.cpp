#include "runtime/machine/place.h"

#include <algorithm>
#include <set>

namespace expc::machine {
namespace {

bool holds(const std::vector<int>& cores, int core) { return std::ranges::find(cores, core) != cores.end(); }

/// Indices of the sockets that have some of `cores`.
std::vector<size_t> socketsOf(const Machine& machine, const std::vector<int>& cores) {
  std::vector<size_t> result;
  for (size_t i = 0; i < machine.packages.size(); ++i) {
    const auto& own = machine.packages[i].cores;
    if (std::ranges::any_of(cores, [&](int core) { return holds(own, core); })) result.push_back(i);
  }
  return result;
}

std::vector<int> nodesOf(const Machine& machine, const std::vector<int>& cores) {
  std::set<int> nodes;
  for (const NumaNode& node : machine.nodes) {
    if (std::ranges::any_of(cores, [&](int core) { return holds(node.cores, core); })) nodes.insert(node.index);
  }
  return {nodes.begin(), nodes.end()};
}

/// The cores of `other` in the places that `cores` have in `own`: slots of one socket stay apart on the other.
std::vector<int> mirrored(const std::vector<int>& cores, const std::vector<int>& own, const std::vector<int>& other) {
  std::set<int> result;
  for (size_t i = 0; i < own.size(); ++i) {
    if (holds(cores, own[i])) result.insert(other[i % other.size()]);
  }
  return {result.begin(), result.end()};
}

}  // namespace

std::optional<Slot> placed(const Machine& machine, const Slot& slot, Place place) {
  Slot result = slot;
  result.threads = static_cast<unsigned>(slot.cores.size());
  if (place == Place::Any) {
    result.cores.clear();
    return result;
  }
  if (place == Place::Far) {
    const std::vector<size_t> home = socketsOf(machine, slot.cores);
    if (machine.packages.size() < 2 || home.size() != 1) return std::nullopt;
    const auto& other = machine.packages[(home.front() + 1) % machine.packages.size()].cores;
    if (other.empty()) return std::nullopt;
    result.cores = mirrored(slot.cores, machine.packages[home.front()].cores, other);
    result.threads = static_cast<unsigned>(result.cores.size());
  }
  result.memory_nodes = nodesOf(machine, result.cores);
  return result;
}

}  // namespace expc::machine
