#pragma once

// The public interface to a process's counters on null cards. Programs need not link with the null
// GPU: they find the function by dlsym(RTLD_DEFAULT, "nullgpu_counters") or by ctypes and do
// without if it is missing. Plain C, and the only header here that the rest of expc includes.

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Calls of one kind and the bytes that they moved.
struct nullgpu_traffic {
  uint64_t calls, bytes;
};

/// Collectives of one kind: "all_reduce", "reduce", "reduce_scatter", "all_gather", "broadcast",
/// "all_to_all" or "messages" (a group of sends and receives is one call). Bytes are those of the
/// larger of the rank's two buffers, summed over its calls.
struct nullgpu_collective {
  const char* name;  // static storage; null ends the list
  uint64_t calls, bytes;
};

/// Room for all kinds above and the end of the list.
#define NULLGPU_COLLECTIVES 8

/// Counts since the process began; they are never reset. Launches and copies count once they are
/// done: to count those of a step, wait for the cards before both readings (which adds to
/// `synchronizations`). New members are only ever appended.
struct nullgpu_counts {
  uint64_t size;         // bytes of this struct as the caller knows it
  uint64_t launches;     // kernels; a graph's kernels count at each of its launches
  uint64_t allocations;  // requests for device memory, by any function of the runtime
  /// Calls in which the host waits: for a stream, an event, a card or a copy. Queries do not count.
  uint64_t synchronizations;
  struct nullgpu_traffic to_card, from_card, within_card, between_cards, sets;
  struct nullgpu_collective collectives[NULLGPU_COLLECTIVES];
};

/// Fills as many members of `counters` as both sides know. The caller sets `size` before; it
/// becomes the number of bytes filled. Thread-safe.
/// @returns 0; -1 if `counters` is null or `size` leaves room for no count
int nullgpu_counters(struct nullgpu_counts* counters);

#ifdef __cplusplus
}
#endif
