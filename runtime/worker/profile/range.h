#pragma once

// Named stretches of a training step. Each is an NVTX range (in builds with CUDA) and, while its thread is measured, an
// entry of a phase clock, and while a trace is taken an event of it. Otherwise it costs a few nanoseconds.

#include <llvm/Support/Error.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace at {
struct RecordFunction;
}

namespace expc::profile {

/// `Load`: the training thread waits for a batch. `Copy`: the batch's way to the device, with scaling and normalising
/// there. `AllReduce`: gradients between replicas, where the training thread does it itself; c10d's reducer is observed
/// by the probes.
enum class Phase : uint8_t { Epoch, Step, Load, Copy, Forward, Backward, AllReduce, Optimizer };
inline constexpr size_t kPhases = 8;
std::string_view toString(Phase phase);  // "all_reduce"

/// The phase lasts from construction to destruction. Ranges of one thread nest, but for Epoch, which ends when it ends.
class Range {
 public:
  explicit Range(Phase phase);
  ~Range();

 private:
  Phase phase_;
  bool measured_;
  uint64_t nvtx_;  // of an Epoch
  std::unique_ptr<at::RecordFunction> traced_;
};

struct PhaseTime {
  double seconds = 0;
  uint64_t count = 0;
};
using PhaseTimes = std::array<PhaseTime, kPhases>;

/// One for each kind of device. Used by the thread that trains, and by no other.
class PhaseClock {
 public:
  virtual ~PhaseClock() = default;
  /// A phase does not begin again before it has ended.
  virtual void begin(Phase phase) = 0;
  virtual void end(Phase phase) = 0;
  /// Sums since the clock was made or last asked. Waits for the device.
  virtual PhaseTimes take() = 0;
};

/// As long as it lives, the ranges of this thread are entries of `clock`.
class Measuring {
 public:
  explicit Measuring(PhaseClock& clock);
  ~Measuring();
  Measuring(const Measuring&) = delete;
  Measuring& operator=(const Measuring&) = delete;
};

/// By the host's steady clock: about 50 ns a phase.
std::unique_ptr<PhaseClock> makeHostClock();

// A trace of everything that libtorch does, by its own profiler (Kineto), as a Chrome trace that Perfetto opens. It
// costs 30-40 % of a step on the CPU and 40 us an event: what runs under it is never measured.

/// On a GPU its kernels and copies are traced too.
void startTrace(bool gpu);
/// Ends it and writes `path`. The error names the path.
llvm::Error finishTrace(const std::string& path);

}  // namespace expc::profile
