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

// The record of a process, which outlives it: with NULLGPU_RECORD=FOLDER each process that uses
// null cards maps a file of its own there and counts in it, so that one that is killed leaves its
// counts, too. All numbers are those of the machine that wrote it; a text ends with a null.

#define NULLGPU_RECORD_MARK "nullrec1"
#define NULLGPU_RECORD_CARDS 64
#define NULLGPU_RECORD_PLACES 64
#define NULLGPU_RECORD_SAMPLES 64

/// Owners of the tensors on a card. Activations are tensors with a graph, what the backward pass needs,
/// and workspaces; variables are the program's other tensors.
enum {
  NULLGPU_PARAMETERS,
  NULLGPU_GRADIENTS,
  NULLGPU_OPTIMIZER,
  NULLGPU_VARIABLES,
  NULLGPU_ACTIVATIONS,
  NULLGPU_OWNERS
};

/// Use of one card, by the machine's number. Bytes.
struct nullgpu_card_record {
  uint64_t opened;     // 1 once the process asked for memory of the card
  uint64_t peak;       // the most that the process held at once
  uint64_t allocated;  // torch's allocator: peak of tensors; 0 unless the program ended by itself
  uint64_t reserved;   // torch's allocator: peak with its cache
  /// The last request that was refused for lack of memory and never granted later, and what all
  /// processes held of the card then; 0 without one.
  uint64_t refused, held;
  /// Bytes of tensors by owner when torch's allocator refused a request last; all 0 without one.
  uint64_t owners[NULLGPU_OWNERS];
};

/// A line of Python at which the host waited for cards.
struct nullgpu_place {
  char at[240];  // "FILE:LINE"; empty ends the list
  uint64_t waits, nanoseconds;
};

struct nullgpu_record {
  char mark[8];       // NULLGPU_RECORD_MARK, written last when the file is made
  uint64_t size;      // bytes of this struct
  int64_t pid, rank;  // rank: the variable RANK; -1 without it
  uint64_t ended;     // 1 once its exit handlers ran: not after a kill or _exit
  char program[256];  // its command line, words separated by blanks
  /// Numbers as in nullgpu_counts; `waited` is the time of the synchronizations in nanoseconds.
  uint64_t launches, allocations, synchronizations, waited;
  struct nullgpu_traffic copies[6];  // kernels (unused), to card, from card, within, between, sets
  struct {
    char name[16];
    uint64_t calls, bytes;
  } collectives[NULLGPU_COLLECTIVES];
  struct nullgpu_card_record cards[NULLGPU_RECORD_CARDS];
  struct nullgpu_place places[NULLGPU_RECORD_PLACES];
  /// The sum of the cards' peaks after each `stride` operations that the host queued, `sampled` of them. If they are
  /// full, every second is dropped and the stride doubled.
  uint64_t stride, sampled, samples[NULLGPU_RECORD_SAMPLES];
};

/// Stores the peaks of an allocator above the runtime, by the process's number of the card.
/// Without effect in a fork.
void nullgpu_note_allocator(unsigned card, uint64_t allocated, uint64_t reserved);
/// Stores who owns the tensors of a card, NULLGPU_OWNERS sizes. Without effect in a fork.
void nullgpu_note_owners(unsigned card, const uint64_t* bytes);

#ifdef __cplusplus
}
#endif
