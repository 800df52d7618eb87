// AlikeSets: enumerates sets of slots, sorts them into kinds by a name that describes devices and paths, and orders
// each kind for rotation.

#include "runtime/machine/sets.h"

#include <fmt/ranges.h>
#include <llvm/ADT/StringExtras.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <set>

#include "runtime/base/entry.h"
#include "runtime/base/find.h"
#include "runtime/base/format.h"

namespace expc::machine {
namespace {

// Up to this many slots all sets are enumerated, at most C(10, 5) = 252. Beyond (a large machine's cores as slots) only
// sets of neighbours are, since all sets would be too many.
constexpr unsigned kMostCombined = 10;
// Sets of a kind that are used in turn; there are rarely more blocks.
constexpr size_t kMostSets = 64;
// Penalties larger than any sum of paths: a set that mixes device names, or whose devices are joined unequally, is
// chosen only if nothing else is possible.
constexpr int kMixed = 1000, kUneven = 500;

/// More NVLinks are nearer than any other path; else the order of Way::Over.
int distanceOf(const Way& way) { return way.nvlinks > 0 ? -int(way.nvlinks) : int(way.over); }

/// The GPU of a slot; null for a CPU slot.
const Gpu* gpuOf(const Machine& machine, const Slot& slot) {
  const auto found =
      std::ranges::find_if(machine.gpus, [&](const Gpu& gpu) { return slot.gpu && gpu.index == slot.index; });
  return found == machine.gpus.end() ? nullptr : &*found;
}

/// The index of the first place (socket or NUMA node) that has one of the cores; -1 if none is known.
template <typename Place>
int placeOf(const std::vector<Place>& places, const std::vector<int>& cores) {
  for (size_t i = 0; i < places.size(); ++i)
    for (const int core : cores)
      if (std::ranges::find(places[i].cores, core) != places[i].cores.end()) return int(i);
  return -1;
}

/// All sets of `wanted` numbers below `count`, in lexicographic order; for a large `count` only runs of neighbours.
std::vector<AlikeSets::Set> candidates(unsigned wanted, unsigned count) {
  std::vector<AlikeSets::Set> all;
  AlikeSets::Set set(wanted);
  if (count > kMostCombined) {
    // Runs that begin at multiples of `wanted` come first and are disjoint; later ones wrap around.
    for (unsigned first = 0; first < count; ++first) {
      for (unsigned i = 0; i < wanted; ++i) set[i] = (first * wanted + i) % count;
      std::ranges::sort(set);
      base::addOnce(all, set);
    }
    return all;
  }
  // The permutations of which numbers are taken, from the largest on, are the sets in their order.
  std::vector<bool> taken(count);
  std::fill_n(taken.begin(), wanted, true);
  do {
    set.clear();
    for (unsigned i = 0; i < count; ++i)
      if (taken[i]) set.push_back(i);
    all.push_back(set);
  } while (std::prev_permutation(taken.begin(), taken.end()));
  return all;
}

/// Greedy order: each next set is the one whose numbers were used least so far. Ends after kMostSets.
std::vector<AlikeSets::Set> evenly(std::vector<AlikeSets::Set> sets, size_t count) {
  std::vector<AlikeSets::Set> result;
  std::vector<unsigned> used(count, 0);
  while (!sets.empty() && result.size() < kMostSets) {
    // Sum of the uses so far. Among equal sets min_element takes the first, so the order is always the same.
    const auto uses = [&](const AlikeSets::Set& set) {
      return std::accumulate(set.begin(), set.end(), 0u, [&](unsigned sum, unsigned slot) { return sum + used[slot]; });
    };
    const auto next =
        std::ranges::min_element(sets, [&](const auto& one, const auto& other) { return uses(one) < uses(other); });
    for (const unsigned slot : *next) ++used[slot];
    result.push_back(std::move(*next));
    sets.erase(next);
  }
  return result;
}

}  // namespace

constexpr const char* kWays[] = {"", "PIX", "PXB", "PHB", "NODE", "SYS"};

std::string wayText(const Way& way) {
  return way.nvlinks > 0 ? fmt::format("NV{}", way.nvlinks) : kWays[size_t(way.over)];
}

std::optional<Way> wayFrom(StringRef text) {
  Way way;
  if (text.consume_front("NV")) return llvm::to_integer(text, way.nvlinks, 10) ? std::optional(way) : std::nullopt;
  const auto* const name = std::ranges::find(kWays, text);
  if (name == std::end(kWays)) return std::nullopt;
  way.over = static_cast<Way::Over>(name - kWays);
  return way;
}

/// The path between two slots: of GPUs by NVLink and PCIe, of CPU slots by NUMA node and socket.
static Way wayBetween(const Machine& machine, const Slot& one, const Slot& other) {
  if (const Gpu *from = gpuOf(machine, one), *to = gpuOf(machine, other); from && to)
    return valueIn(from->ways, to->index).value_or(Way{});
  // CPU slots have no links; the terms of GPUs are reused for same node, same socket and different sockets.
  const int node = placeOf(machine.nodes, one.cores), socket = placeOf(machine.packages, one.cores);
  if (node < 0 || socket < 0) return {};
  if (node == placeOf(machine.nodes, other.cores)) return {Way::Over::Node};
  return {socket == placeOf(machine.packages, other.cores) ? Way::Over::Bridge : Way::Over::System};
}

std::string joinedText(const Machine& machine, const std::vector<Slot>& slots) {
  std::vector<std::string> ways;
  for (size_t i = 0; i < slots.size(); ++i) {
    std::vector<std::string> own;
    for (size_t j = 0; j < slots.size(); ++j)
      if (i != j && slots[i].gpu && slots[j].gpu) own.push_back(wayText(wayBetween(machine, slots[i], slots[j])));
    // Sorted at both levels, so that the numbering of devices does not matter.
    std::ranges::sort(own);
    if (!own.empty()) ways.push_back(llvm::join(own, ","));
  }
  std::ranges::sort(ways);
  const std::string text = llvm::join(ways, ";");
  return text.find_first_not_of(",;") == std::string::npos ? "" : text;
}

AlikeSets::AlikeSets(const Machine& machine, const std::vector<Slot>& slots) : slots_(slots) {
  for (const Slot& one : slots) {
    const Gpu* gpu = gpuOf(machine, one);
    devices_.push_back(gpu ? fmt::format("{} of {} MiB, {} cores", gpu->name, gpu->memory_bytes >> 20, one.cores.size())
                           : fmt::format("{} cores", one.cores.size()));
    std::vector<Way>& ways = ways_.emplace_back();
    for (const Slot& other : slots) ways.push_back(wayBetween(machine, one, other));
  }
}

AlikeSets::Kind AlikeSets::kindOf(const Set& set) const {
  Kind kind;
  std::vector<std::string> members;
  std::set<std::string> names;
  for (const unsigned slot : set) {
    std::vector<std::string> ways;
    for (const unsigned other : set) {
      if (other == slot) continue;
      ways.push_back(wayText(ways_[slot][other]));
      // Each pair counts twice, once from either side, which changes no order.
      kind.distance += distanceOf(ways_[slot][other]);
    }
    std::ranges::sort(ways);
    names.insert(slots_[slot].name);
    members.push_back(fmt::format("{} [{}]", devices_[slot], fmt::join(ways, " ")));
  }
  std::ranges::sort(members);
  if (names.size() > 1) kind.distance += kMixed;
  // Members are sorted, so the first equals the last only if all are equal.
  if (members.front() != members.back()) kind.distance += kUneven;
  kind.name = members.front() == members.back() ? fmt::format("{} x {}", set.size(), members.front())
                                                : llvm::join(members, "; ");
  return kind;
}

const std::vector<AlikeSets::Kind>& AlikeSets::kinds(unsigned wanted) const {
  // Computed once for each size; it is asked at every trial.
  const auto [known, is_new] = kinds_.try_emplace(wanted);
  std::vector<Kind>& kinds = known->second;
  if (!is_new || wanted == 0 || wanted > devices_.size()) return kinds;
  for (const Set& set : candidates(wanted, devices_.size())) {
    Kind kind = kindOf(set);
    auto found = std::ranges::find(kinds, kind.name, &Kind::name);
    if (found == kinds.end()) found = kinds.insert(kinds.end(), std::move(kind));
    found->sets.push_back(set);
  }
  for (Kind& kind : kinds) kind.sets = evenly(std::move(kind.sets), devices_.size());
  std::ranges::stable_sort(kinds, [](const Kind& one, const Kind& other) {
    return one.distance != other.distance ? one.distance < other.distance : one.sets.size() > other.sets.size();
  });
  return kinds;
}

const std::vector<AlikeSets::Set>& AlikeSets::of(unsigned wanted) const {
  static const std::vector<Set> none;
  return kinds(wanted).empty() ? none : kinds(wanted).front().sets;
}

const AlikeSets::Set& AlikeSets::of(unsigned wanted, uint64_t block_number) const {
  const std::vector<Set>& sets = of(wanted);
  return sets[block_number % sets.size()];
}

std::vector<AlikeSets::Set> AlikeSets::disjoint(unsigned wanted, unsigned parts) const {
  std::vector<Set> best;
  // The nearest kind with enough disjoint sets; else the kind with most of them.
  for (const Kind& kind : kinds(wanted)) {
    std::vector<Set> found;
    std::set<unsigned> taken;
    for (const Set& set : kind.sets) {
      if (found.size() == parts || std::ranges::any_of(set, [&](unsigned slot) { return taken.count(slot); })) continue;
      taken.insert(set.begin(), set.end());
      found.push_back(set);
    }
    // Kinds are in order of distance, so a further kind wins only with more sets.
    if (found.size() > best.size()) best = std::move(found);
    if (best.size() == parts) break;
  }
  return best;
}

std::string AlikeSets::choiceText(unsigned wanted) const {
  // With one kind all sets are alike, and the choice needs no explanation.
  if (kinds(wanted).size() < 2) return "";
  const Kind& kind = kinds(wanted).front();
  std::vector<std::string> sets;
  for (const Set& set : kind.sets) {
    std::vector<unsigned> numbers;
    for (const unsigned slot : set) numbers.push_back(slots_[slot].index);
    sets.push_back(fmt::format("{}", fmt::join(numbers, "+")));
  }
  return fmt::format("trials on {} of the {} devices run on {}, which are equally connected (other sets differ: {})",
                     wanted, devices_.size(), fmt::join(sets, ", "), kind.name);
}

}  // namespace expc::machine
