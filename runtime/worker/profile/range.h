#pragma once

// Named parts of a training step. A range is always an NVTX range (in builds with CUDA); while its
// thread is measured it is also an entry of a phase clock, and while a trace is taken an event of
// the trace. Otherwise it costs a few nanoseconds.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/base/llvm.h"

namespace at {
struct RecordFunction;
}

namespace expc::profile {

/// Phases of training. `Load`: the training thread waits for a batch. `Copy`: the batch goes to the
/// device and is scaled and normalised there. `AllReduce`: the training thread itself reduces
/// gradients over replicas; c10d's reducer does that elsewhere and is observed by the probes.
enum class Phase : uint8_t { Epoch, Step, Load, Copy, Forward, Backward, AllReduce, Optimizer };
inline constexpr size_t kPhases = 8;
std::string_view toString(Phase phase);  // such as "all_reduce"

/// Marks a phase from construction to destruction. Ranges of a thread must nest, except Epoch,
/// which may end any time.
class Range {
 public:
  explicit Range(Phase phase);
  ~Range();

 private:
  Phase phase_;
  bool measured_;
  uint64_t nvtx_;  // for an Epoch
  std::unique_ptr<at::RecordFunction> traced_;
};

/// The time in a phase and how often it ran.
struct PhaseTime {
  double seconds = 0;
  uint64_t count = 0;
};
using PhaseTimes = std::array<PhaseTime, kPhases>;

/// Measures phases; one implementation per kind of device. Used by the training thread only.
class PhaseClock {
 public:
  virtual ~PhaseClock() = default;
  /// Begins a phase, which must have ended since it began last.
  virtual void begin(Phase phase) = 0;
  virtual void end(Phase phase) = 0;
  /// The sums since the last call or the construction. Waits for the device.
  virtual PhaseTimes take() = 0;
};

/// Makes the ranges of this thread entries of `clock`, as long as it lives. One per thread.
class Measuring {
 public:
  explicit Measuring(PhaseClock& clock);
  ~Measuring();
  Measuring(const Measuring&) = delete;
  Measuring& operator=(const Measuring&) = delete;
};

/// A clock for the host's time; costs about 50 ns per phase.
std::unique_ptr<PhaseClock> makeHostClock();

// Traces of everything that libtorch does, by its own profiler (Kineto), as a Chrome trace that
// Perfetto opens. It costs 30 to 40 % of a step on the CPU and 40 us per event, so nothing that
// runs under it is ever measured.

/// Starts a trace, with a GPU's kernels and copies if `gpu`.
void startTrace(bool gpu);
/// Ends the trace and writes it to `path`. The error names the path.
Error finishTrace(const std::string& path);

}  // namespace expc::profile
