#pragma once

// Memory of the cards: addresses that fault when the host touches them, and a second mapping of the same pages for the
// libraries here.

#include <driver_types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

namespace nullgpu {

/// The card in whose range of addresses `address` lies; nothing for memory of the host. May be called by a signal's
/// handler.
std::optional<unsigned> cardOf(const void* address);
/// Where a library may read and write what `address` means: the second mapping for a card's memory, itself for the
/// host's.
void* reachable(const void* address);

/// Whole pages of the card's memory, which read as zeros. Counted against the card and the faults on demand.
/// @param wait is called where there is not so much left, and may bring some back.
/// @returns cudaErrorMemoryAllocation where there is not so much left then, either.
cudaError_t allocate(unsigned card, size_t bytes, void** address, const std::function<void()>& wait = {});
/// Memory that no fault on demand concerns: what a library holds for its own variables.
cudaError_t allocateQuietly(unsigned card, size_t bytes, void** address);
/// Gives an allocation back to its card, and its pages to the host.
/// @returns cudaErrorInvalidValue where no allocation begins.
cudaError_t deallocate(void* address);

/// The allocation around an address of a card: its beginning, and its bytes as they were asked for; null, 0 where none
/// is.
struct Allocation {
  char* begin = nullptr;
  size_t bytes = 0;
};
Allocation allocationOf(const void* address);

/// The content of `bytes` from a card's memory; pages that were never written stay absent.
void readCard(void* host, const void* address, size_t bytes);
/// Content of the host's for a card's memory.
void writeCard(void* address, const void* host, size_t bytes);
/// Sets a card's memory; whole pages of zeros go back to the host.
void setCard(void* address, int value, size_t bytes);
/// From card to card, or within one.
void copyBetweenCards(void* to, const void* from, size_t bytes);

}  // namespace nullgpu
