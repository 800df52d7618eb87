#pragma once

// Where a rank's cores and memory are, seen from its device: parameter `numa`.

#include <optional>

#include "runtime/machine/machine.h"

namespace expc::machine {

enum class Place {
  Near,  // the slot's own cores, and the memory next to them
  Any,   // wherever the system puts it
  Far    // as many cores of the next socket, and its memory
};

/// The slot with cores, threads and memory nodes set for `place`. Nothing where Far is asked for and there is no other
/// socket, or the slot's cores are on several already.
std::optional<Slot> placed(const Machine& machine, const Slot& slot, Place place);

}  // namespace expc::machine
