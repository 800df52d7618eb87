#pragma once

// Decides which devices a trial gets: sets that are alike in their devices and the paths between them, so that a value
// does not depend on which set it was measured on. Trials rotate over these sets from block to block, which keeps the
// effect of a single device from being taken for one of the factors.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/machine/machine.h"

namespace expc::machine {

/// A path as text: "NV4" for NVLinks, else in the terms of `nvidia-smi topo -m` ("PIX", "PXB", "PHB", "NODE", "SYS");
/// "" if nothing is known.
std::string wayText(const Way& way);
/// Parses a text of wayText(); nothing if it is none.
std::optional<Way> wayFrom(StringRef text);

/// A text for how the GPUs in these slots are joined, equal for machines that are joined alike; part of the environment
/// class. "" for CPU slots, for a single GPU, and if nothing is known.
std::string joinedText(const Machine& machine, const std::vector<Slot>& slots);

/// Sets of slots that are alike: devices of one name, with equally many cores, joined by the same paths. If there are
/// several kinds of such sets, the kind with the nearest devices is taken, then the one with most sets. A Set has
/// numbers of slots (positions in the constructor's `slots`), ascending.
///
/// Kinds are computed at the first question about a size, so const calls are not thread-safe.
class AlikeSets {
 public:
  using Set = std::vector<unsigned>;

  AlikeSets() = default;
  AlikeSets(const Machine& machine, const std::vector<Slot>& slots);

  /// All sets of `wanted` slots that trials rotate over, ordered so that every slot is used about equally often and the
  /// first sets are disjoint where possible. Empty if there are fewer slots.
  const std::vector<Set>& of(unsigned wanted) const;
  /// The set for a block: sets in turn. `wanted` must not exceed the number of slots.
  const Set& of(unsigned wanted, uint64_t block_number) const;
  /// Up to `parts` disjoint sets of `wanted` slots that are alike; fewer if there are not so many.
  std::vector<Set> disjoint(unsigned wanted, unsigned parts) const;
  /// "trials on 2 of the 4 devices run on 0+1, 2+3, …": for the user, if some sets are passed over; "" if any set would
  /// do.
  std::string choiceText(unsigned wanted) const;

 private:
  /// Sets that are alike. `distance`: sum over pairs, smaller is nearer.
  struct Kind {
    std::string name;  // what its sets have in common
    int distance = 0;
    std::vector<Set> sets;
  };
  Kind kindOf(const Set& set) const;
  const std::vector<Kind>& kinds(unsigned wanted) const;

  std::vector<std::string> devices_;  // by slot: its device in words
  std::vector<Slot> slots_;
  std::vector<std::vector<Way>> ways_;                   // by slot and slot
  mutable std::map<unsigned, std::vector<Kind>> kinds_;  // size of a set -> kinds, once asked for; the chosen one first
};

}  // namespace expc::machine
