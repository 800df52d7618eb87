#pragma once

// What the null cards are and how they fail: read once from the environment, before the first call of any library; why
// their clocks are held down: read whenever somebody asks.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace nullgpu {

inline constexpr unsigned kMostCards = 64;  // of a machine

/// Faults on demand, `NULLGPU_FAULTS="launch=5000, rank=1"`. Counts begin at 1 and are the process's own.
struct Faults {
  std::optional<uint64_t> rank;        // only the process whose RANK this is; without it each
  std::optional<uint64_t> allocation;  // from the N-th on allocations of device memory find none: torch asks twice
  std::optional<uint64_t> memory;      // bytes; more than these on a card find none
  std::optional<uint64_t> launch;      // from the N-th launch on every call fails: cudaErrorIllegalAddress
  std::optional<uint64_t> lost;        // at the N-th launch the card falls off: every call fails, NVML says GPU_IS_LOST
  std::optional<uint64_t> collective;  // the N-th collective never ends
  std::optional<uint64_t> mismatch;    // the N-th collective asks for one element more than it was called with
  std::optional<uint64_t> communicator;  // at the N-th collective the communicator has an asynchronous error
  std::optional<uint64_t> capture;       // the N-th operation that a graph would take cannot be captured
  bool graphs = false;                   // no capture begins: cudaErrorNotSupported
  bool cublas = false;                   // cuBLAS finds no memory for its workspace: CUBLAS_STATUS_ALLOC_FAILED
  bool cudnn = false;                    // cuDNN the same: CUDNN_STATUS_ALLOC_FAILED
  bool cupti = false;                    // another tool has CUPTI
};

struct Configuration {
  unsigned cards = 4;                    // NULLGPU_CARDS
  uint64_t memory = uint64_t{80} << 30;  // NULLGPU_MEMORY, bytes of a card: "94GiB", "80GB", "1000000"
  unsigned capability = 90;              // NULLGPU_CAPABILITY: "7.5", "9.0"
  uint64_t seed = 1;                     // NULLGPU_SEED: the order in which streams move
  std::optional<uint64_t> drop;          // NULLGPU_DROP: copies larger than this arrive without their content
  std::string machine;                   // NULLGPU_MACHINE: a file that all processes of one machine share; "": none
  Faults faults;                         // NULLGPU_FAULTS, if they are this process's
};

/// A variable that cannot be read ends the process: one line that names it, exit code 2.
const Configuration& configuration();

/// The reasons why a card's clocks are held down (NVML's bits, nvmlClocksEventReason*) in a list such as
/// "0=0x8, 2=0x40": card 0 slows down for its hardware's sake and card 2 for its heat's. "0x20" is for all cards. What
/// cannot be read ends the process: refuse().
uint64_t throttleIn(std::string_view list, unsigned card);

/// The same of NULLGPU_THROTTLE, as whoever asks has it set at that moment: a list, or "@FILE", whose first line is one
/// and which may change at any time. No file, no reasons.
uint64_t throttleAsked(unsigned card);

}  // namespace nullgpu
