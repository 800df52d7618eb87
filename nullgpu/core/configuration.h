#pragma once

// The description of the null cards and the faults they shall show, from the environment. All of it
// is read once, before the first call of any library, except NULLGPU_THROTTLE, which is read
// whenever somebody asks. docs/null-gpu.md explains the variables to users.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace nullgpu {

/// The most cards that a machine can have; a process's set of them is a mask of 64 bits.
inline constexpr unsigned kMostCards = 64;

/// Faults on demand: `NULLGPU_FAULTS="launch=5000, rank=1"`. Counts begin at 1, and each process
/// has its own. An absent number means that the fault does not happen.
struct Faults {
  std::optional<uint64_t> rank;  // restricts all others to the process whose RANK this is
  /// From the N-th allocation of device memory on, all fail. A single failure would not show: torch
  /// frees its cache and asks again.
  std::optional<uint64_t> allocation;
  std::optional<uint64_t> memory;  // allocations beyond this many bytes on a card fail
  std::optional<uint64_t> launch;  // from the N-th launch on, every call fails: cudaErrorIllegalAddress
  /// At the N-th launch the card falls off the bus: every call fails, and NVML answers GPU_IS_LOST.
  std::optional<uint64_t> lost;
  std::optional<uint64_t> collective;    // the N-th collective never ends
  std::optional<uint64_t> mismatch;      // the N-th collective asks for one element more than its caller did
  std::optional<uint64_t> communicator;  // at the N-th collective the communicator has an asynchronous error
  std::optional<uint64_t> capture;       // the N-th operation that would go into a graph cannot be captured
  bool graphs = false;                   // no capture begins: cudaErrorNotSupported
  bool cublas = false;                   // cuBLAS has no memory for a handle: CUBLAS_STATUS_ALLOC_FAILED
  /// cuDNN has no memory for a handle: CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED.
  bool cudnn = false;
  bool cupti = false;  // CUPTI is taken by another tool
};

/// The null cards of this process.
struct Configuration {
  unsigned cards = 4;  // NULLGPU_CARDS
  /// NULLGPU_MEMORY, bytes per card: "94GiB", "80GB" or "1000000".
  uint64_t memory = uint64_t{80} << 30;
  unsigned capability = 90;      // NULLGPU_CAPABILITY, ten times the compute capability: "7.5" is 75
  uint64_t seed = 1;             // NULLGPU_SEED, which draws the order in which streams move
  std::optional<uint64_t> drop;  // NULLGPU_DROP: copies larger than this many bytes arrive without content
  /// NULLGPU_MACHINE: a file that all processes of one machine share; empty for none.
  std::string machine;
  std::string record;  // NULLGPU_RECORD: a folder for records of processes (record.h); empty for none
  Faults faults;       // NULLGPU_FAULTS, unless they are for another rank
};

/// The configuration of this process, read at the first call. A variable that cannot be read ends
/// the process with exit code 2 and one line that names it. Thread-safe; references stay valid.
const Configuration& configuration();

/// The reasons for a card's reduced clocks (NVML's bits, nvmlClocksEventReason*) in a list such as
/// "0=0x8, 2=0x40": hardware slowdown on card 0, thermal slowdown on card 2. An entry without a
/// number, "0x20", applies to all cards. `card` is the machine's number. A list that cannot be read
/// ends the process through refuse().
uint64_t throttleIn(std::string_view list, unsigned card);

/// throttleIn() of NULLGPU_THROTTLE as it is set now: a list, or "@FILE", whose first line is the
/// list and may change at any time, so that a test can throttle a running process. A missing file
/// means no reasons.
uint64_t throttleAsked(unsigned card);

}  // namespace nullgpu
