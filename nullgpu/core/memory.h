#pragma once

// Memory of the cards. A card's memory is a range of addresses that faults when the program touches
// it, as a GPU's would; a second mapping of the same pages lets the libraries here read and write
// it. Pages take memory of the host only once something was written to them. All functions are
// thread-safe; `card` is this process's number of a card.

#include <driver_types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "nullgpu/core/allocation.h"

namespace nullgpu {

/// The card whose range of addresses contains `address`; nothing for memory of the host. Takes no
/// lock, so a signal handler may call it.
std::optional<unsigned> cardOf(const void* address);
/// A pointer through which a library may read and write what `address` means: into the second
/// mapping for a card's memory, `address` itself for the host's.
void* reachable(const void* address);

/// Allocates whole pages of the card's memory, which read as zeros. It counts against the card's
/// size and against the faults on demand.
/// @param address receives the result; null for 0 bytes and on an error
/// @param wait called once if memory is short; queued frees that it waits for may return some
/// @returns cudaErrorMemoryAllocation if memory is short even then
cudaError_t allocate(unsigned card, size_t bytes, void** address, const std::function<void()>& wait = {});
/// Allocates memory that no fault on demand concerns and no counter shows, for a library's own
/// variables.
cudaError_t allocateQuietly(unsigned card, size_t bytes, void** address);
/// Returns an allocation to its card, and its pages to the host.
/// @returns cudaErrorInvalidValue if no allocation begins at `address`
cudaError_t deallocate(void* address);

/// Takes memory of a card that has no address yet, and returns it. Counted and refused as that of
/// allocate().
cudaError_t takeMemory(unsigned card, size_t bytes);
void returnMemory(unsigned card, size_t bytes);

/// The allocation that contains `address`.
Allocation allocationOf(const void* address);

/// Copies `bytes` of a card's memory to the host. Pages that were never written stay absent.
void readCard(void* host, const void* address, size_t bytes);
/// Copies `bytes` of the host's memory to a card.
void writeCard(void* address, const void* host, size_t bytes);
/// Sets `bytes` of a card's memory to `value`. Whole pages of zeros go back to the host.
void setCard(void* address, int value, size_t bytes);
/// Copies `bytes` from card to card or within one. The ranges may overlap only below 16 pages.
void copyBetweenCards(void* to, const void* from, size_t bytes);

}  // namespace nullgpu
