#pragma once

// Memory of the cards: addresses that fault when the host touches them, and a second mapping of the same pages for the
// libraries here.

#include <optional>

namespace nullgpu {

/// The card whose memory holds `address`; nothing for memory of the host.
std::optional<unsigned> cardOf(const void* address);
/// Where a library may read and write what `address` means: the second mapping for a card's memory, itself for the
/// host's.
void* reachable(const void* address);

}  // namespace nullgpu
