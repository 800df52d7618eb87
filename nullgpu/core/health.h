#pragma once

// The check that every call makes first: whether the process may still use its cards.

#include <driver_types.h>

#include <cstdint>

namespace nullgpu {

/// Makes `error` the answer of every later call in this process, as a sticky error of CUDA.
void stick(cudaError_t error);
/// cudaSuccess while nothing stuck. After a fork: cudaErrorInitializationError.
cudaError_t health();

/// The card that this thread's calls are for.
unsigned currentCard();

/// Called when an error sticks, and when the process ends: queues drop what they hold. Set before the first call of any
/// library; the queues stand above and cannot be called from here.
struct Dependents {
  void (*stuck)() = nullptr;
  void (*ends)() = nullptr;
};
void setDependents(Dependents dependents);

/// The process ends: every later call answers cudaErrorCudartUnloading. False where it was forked from one that had
/// called the runtime, and so has no cards.
bool unload();

/// The error that stuck; cudaSuccess while nothing did. Begins nothing.
cudaError_t stuckError();
/// health() but for what stuck: enough for who only asks what there is.
cudaError_t presence();

/// The card of this thread's calls becomes `card`, a number among the visible ones.
/// @returns cudaErrorInvalidDevice where there is none of that number.
cudaError_t selectCard(int card);

/// Whether a fault on demand depends on the number of launches.
bool launchesMatter();
/// Counts `launches` against the faults on demand. What it answers has stuck by then.
cudaError_t countLaunches(uint64_t launches);
/// Another process of the machine may have lost the current card: asked now and then, where the host waits. Not with
/// the queues' lock held.
void noticeLoss();

/// While a function of the host runs in a stream, no call of the runtime is permitted to it.
void setHostFunctionRuns(bool runs);

}  // namespace nullgpu
