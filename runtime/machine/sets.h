#pragma once

// Which devices a trial gets: sets that are alike, so that a value does not depend on which of them it was.

#include <llvm/ADT/StringRef.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/machine/machine.h"

namespace expc::machine {

/// "NV4", else as `nvidia-smi topo -m` has it ("PIX", "PXB", "PHB", "NODE", "SYS"); "" where nothing is known.
std::string wayText(const Way& way);
/// What such a text says; nothing where it is none.
std::optional<Way> wayFrom(llvm::StringRef text);

/// How two slots reach each other: GPUs by NVLink and PCIe, CPU slots by memory node and socket.
Way wayBetween(const Machine& machine, const Slot& one, const Slot& other);

/// What GPUs in these slots are joined by, as a word that machines joined alike share; "" for CPU slots, a single GPU,
/// and where nothing is known.
std::string joinedText(const Machine& machine, const std::vector<Slot>& slots);

/// The sets of some slots that are alike: of devices of one name, with as many cores, which reach each other in the
/// same ways. Of several kinds of such sets the one is taken whose devices are nearest to each other, then the one with
/// most sets. Sets are numbers of slots, ascending.
class AlikeSets {
 public:
  using Set = std::vector<unsigned>;

  AlikeSets() = default;
  AlikeSets(const Machine& machine, const std::vector<Slot>& slots);

  /// All sets of `wanted` slots that trials rotate over, in an order that uses every slot about as often, the first
  /// ones disjoint as far as that goes. Empty where there are not so many slots.
  const std::vector<Set>& of(unsigned wanted) const;
  /// That of a block's number.
  const Set& of(unsigned wanted, uint64_t block_number) const;
  /// `parts` disjoint sets of `wanted` slots that are alike; fewer where there are not so many.
  std::vector<Set> disjoint(unsigned wanted, unsigned parts) const;
  /// "trials on 2 of 4 devices run on 0+1, 2+3 (2 x H100, NV4)": where some devices are passed over or joined
  /// otherwise; "" where any would do.
  std::string choiceText(unsigned wanted) const;

 private:
  struct Kind {
    std::string name;  // what its sets have in common
    int distance = 0;
    std::vector<Set> sets;
  };
  Kind kindOf(const Set& set) const;
  const std::vector<Kind>& kinds(unsigned wanted) const;

  std::vector<std::string> devices_;  // what each slot is, by itself
  std::vector<Slot> slots_;
  std::vector<std::vector<Way>> ways_;                   // between slots
  mutable std::map<unsigned, std::vector<Kind>> kinds_;  // by how many slots, once asked; the chosen one first
};

}  // namespace expc::machine
