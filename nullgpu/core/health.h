#pragma once

// The state that every call checks first: may this process still use its cards? It may not after a
// sticky error, after a fork, while the process ends, or within a host function. Also the card that
// a thread has selected, and the faults on demand that depend on launches.

#include <driver_types.h>

#include <cstdint>

namespace nullgpu {

/// Makes `error` the answer of every later call in this process, like a sticky error of CUDA (an
/// illegal access, a lost card). Only the first one counts; queued work is dropped.
void stick(cudaError_t error);
/// Whether a call may use the cards: presence(), then the sticky error.
cudaError_t health();

/// This process's number of the card that the calling thread has selected; 0 at first.
unsigned currentCard();

/// Functions of the queues, to be called after an error and at the process's end. This file stands
/// below the queues and cannot call them directly. Set once, before the first call of any library.
struct Dependents {
  /// Called when an error becomes sticky.
  void (*stuck)() = nullptr;
  /// Called when the process ends (atexit).
  void (*ends)() = nullptr;
};
void setDependents(Dependents dependents);

/// Marks the process as ending: every later call answers cudaErrorCudartUnloading.
/// @returns false in a fork of a process that had called the runtime: it has no cards to end
bool unload();

/// The sticky error, or cudaSuccess. Unlike health() it does not initialise anything.
cudaError_t stuckError();
/// Whether there are cards to ask about, also after a sticky error.
/// @returns cudaErrorInitializationError after a fork, cudaErrorCudartUnloading at the process's
/// end, cudaErrorNotPermitted within a host function, cudaErrorNoDevice without visible cards
cudaError_t presence();

/// Selects `card`, a number among the visible cards, for the calling thread.
/// @returns cudaErrorInvalidDevice if there is none of that number
cudaError_t selectCard(int card);

/// Whether a fault on demand depends on the number of launches. Counting them is skipped otherwise.
bool launchesMatter();
/// Counts `launches` against the faults on demand. @returns the sticky error, which may be new.
cudaError_t countLaunches(uint64_t launches);
/// Notices a card that another process of the machine has lost, and makes that sticky. Looks at
/// most every 50 ms, when the host waits. The queues' lock must not be held, because sticking takes
/// it.
void noticeLoss();

/// Marks the calling thread as running a host function of a stream (cudaLaunchHostFunc), which must
/// not call the runtime.
void setHostFunctionRuns(bool runs);

}  // namespace nullgpu
