#pragma once

// The measurement of a profiled trial besides its phases: a Probe for each kind of device. The
// activity of a GPU, and the host's calls to it, arrive as single records and are summed by call,
// by family of kernels and by direction of copies. The records are CUPTI's, but nothing here
// depends on CUPTI.

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/worker/profile/breakdown.h"

namespace expc::profile {

/// Families of kernels: computation, and NCCL's collectives. Their order is that of the names in
/// activity.cpp.
enum class Family : uint8_t { Compute, AllReduce, AllGather, ReduceScatter, Broadcast, OtherNccl };
inline constexpr size_t kFamilies = 6;
/// The family of a kernel by its name, mangled or not. NCCL's kernels are called
/// ncclDevKernel_AllReduce_Sum_f32_…, ncclKernel_… before version 2.19, and ncclSymDevKernel_… or
/// ncclSymkDevKernel_… for symmetric memory.
Family familyOf(std::string_view kernel);

/// The name of a call without its version: "cudaLaunchKernel" for "cudaLaunchKernel_v7000" and for
/// "cudaLaunchKernel_ptsz_v7000", the variant for per-thread default streams.
std::string_view callName(std::string_view name);

/// A kernel's name without return type, template arguments and parameters, such as
/// "at::native::vectorized_elementwise_kernel".
std::string kernelName(std::string_view mangled);

/// The direction of a copy. Copies between devices count as DeviceToDevice.
enum class Direction : uint8_t { HostToDevice, DeviceToHost, DeviceToDevice, HostToHost };
inline constexpr size_t kDirections = 4;

/// One record. Times are in nanoseconds of one clock; both are 0 if they could not be taken.
struct Activity {
  enum class Kind : uint8_t { Call, Kernel, Copy, Fill } kind = Kind::Call;
  std::string_view name;                          // of a call or kernel
  Direction direction = Direction::HostToDevice;  // of a copy
  uint64_t begin = 0, end = 0;
  uint64_t bytes = 0;   // for copies and fills
  unsigned device = 0;  // where a kernel, copy or fill ran
};

/// Sums over records.
struct ActivityTotals {
  Amounts calls;    // keys: callName()
  Amounts kernels;  // keys: kernelName()
  std::array<Amount, kFamilies> families{};
  std::array<Amount, kDirections> copies{};
  Amount fills;
  /// The time in which a kernel, copy or fill ran; for several devices their mean.
  double busy_seconds = 0;
  uint64_t untimed = 0;    // counted, but without a time
  uint64_t malformed = 0;  // left out: the end is before the beginning

  /// All calls whose name begins with `name`: "cudaLaunchKernel" includes cudaLaunchKernelExC.
  Amount callsThatBegin(std::string_view name) const;
  /// All of NCCL's kernels.
  Amount nccl() const;
};

/// The length of a union of intervals, which come in any order and may overlap.
class BusyTime {
 public:
  /// Adds an interval in nanoseconds; `end` must not be before `begin`.
  void add(uint64_t begin, uint64_t end);
  /// The length of the union within [from, to).
  uint64_t within(uint64_t from, uint64_t to);

 private:
  void merge();
  std::vector<std::pair<uint64_t, uint64_t>> intervals_;
  size_t merge_at_ = 1 << 16;  // grows with the number of gaps, so memory does too
};

/// Sums records. Not thread-safe: the one thread that drains CUPTI's buffers uses it.
class ActivitySum {
 public:
  void add(const Activity& activity);
  /// Returns what was added, with busy time within [begin, end), and starts anew.
  ActivityTotals take(uint64_t begin, uint64_t end);

 private:
  struct Kernel {
    Family family = Family::Compute;
    Amount amount;
  };
  /// Keys are raw names; demangling waits until take().
  std::map<std::string, Kernel, std::less<>> kernels_;
  Amounts calls_;
  ActivityTotals totals_;
  std::map<unsigned, BusyTime> busy_;  // by device
};

/// Adds the views api, device and kernel (breakdown.h). The device's idle time is `wall_seconds`
/// minus the busy time.
void addActivity(Amounts& breakdown, const ActivityTotals& totals, double wall_seconds);

/// The results of a probe.
struct Findings {
  Amounts breakdown;  // keys as in breakdown.h
  /// c10d's all-reduces, each from start to end; nothing if they were not measured.
  std::optional<Amount> all_reduce;
  /// Totals of a GPU; nothing on a CPU, or without CUPTI.
  std::optional<ActivityTotals> device;
  /// Notes for the result: what a reader must know about missing or partial data.
  std::vector<std::string> notes;
};

/// Observes the profiled steps of a trial: prepare() once, then start() and stop() around the
/// steps.
class Probe {
 public:
  virtual ~Probe() = default;
  /// Does everything that takes time before start().
  virtual void prepare() = 0;
  /// Starts to observe. The device must be idle. Earlier work does not count.
  virtual void start() = 0;
  /// Stops. The device must be idle again. @param wall_seconds the time between start() and stop()
  virtual Findings stop(double wall_seconds) = 0;
};

/// The name under which a record of torch is counted: "MmBackward0" also for autograd's work around
/// that operator, "backward of expc::kernels::Depthwise" for a function of ours, else the record's
/// own name.
/// @param call becomes whether the record counts as a call
std::string operatorName(std::string_view record, bool& call);

/// The probe for a CPU: the own time of torch's operators, and the time of Gloo's all-reduces, from
/// RecordFunction callbacks. One at a time in a process. Costs about 0.3 us per operator.
std::unique_ptr<Probe> makeOperatorProbe();

}  // namespace expc::profile
