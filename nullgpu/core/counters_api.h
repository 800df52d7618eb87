#pragma once

// What a process did on null cards, for programs that are not linked with them: found by dlsym(RTLD_DEFAULT,
// "nullgpu_counters"), or by ctypes. Plain C.

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Calls of one kind and the bytes that they moved.
struct nullgpu_traffic {
  uint64_t calls, bytes;
};

/// Of one kind of collective: "all_reduce", "reduce", "reduce_scatter", "all_gather", "broadcast", "all_to_all",
/// "messages" (a group of them is one call). Bytes are those of the larger of the rank's two buffers.
struct nullgpu_collective {
  const char* name;  // of static storage; null: the list ends here
  uint64_t calls, bytes;
};

#define NULLGPU_COLLECTIVES 8

/// Since the process began; never reset. Launches and copies count when they are done: who wants those of a step waits
/// for the cards before both readings (and counts the waiting). More members come behind these.
struct nullgpu_counts {
  uint64_t size;              // of this struct as the caller knows it
  uint64_t launches;          // of kernels; those that a graph holds at each of its launches
  uint64_t allocations;       // of a card's memory, by any function of the runtime
  uint64_t synchronizations;  // calls in which the host waits: for a stream, an event, a card, a copy. Queries do not
  struct nullgpu_traffic to_card, from_card, within_card, between_cards, sets;
  struct nullgpu_collective collectives[NULLGPU_COLLECTIVES];
};

/// Fills as much of `counters` as both sides know, by its `size`, which becomes what was filled.
/// @returns 0; -1: no counters, or a size that holds none.
int nullgpu_counters(struct nullgpu_counts* counters);

#ifdef __cplusplus
}
#endif
