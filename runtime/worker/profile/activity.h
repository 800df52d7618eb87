#pragma once

// What is measured of a profiled trial besides its phases, by kind of device. What a GPU and the host's calls to it did
// is summed from single records as they come: by call, by family of kernels, by direction of copies. The records are
// CUPTI's; nothing here knows it.

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

enum class Family : uint8_t { Compute, AllReduce, AllGather, ReduceScatter, Broadcast, OtherNccl };
inline constexpr size_t kFamilies = 6;
/// By a kernel's name, mangled or not: NCCL's are ncclDevKernel_AllReduce_Sum_f32_…, ncclKernel_… before 2.19, and
/// ncclSymDevKernel_… or ncclSymkDevKernel_… for symmetric memory.
Family familyOf(std::string_view kernel);

/// "cudaLaunchKernel" of "cudaLaunchKernel_v7000" or "cudaLaunchKernel_ptsz_v7000": the call without its version.
std::string_view callName(std::string_view name);

/// A kernel's name without types, template arguments and parameters: "at::native::vectorized_elementwise_kernel".
std::string kernelName(std::string_view mangled);

enum class Direction : uint8_t { HostToDevice, DeviceToHost, DeviceToDevice, HostToHost };
inline constexpr size_t kDirections = 4;

/// One record. Times in nanoseconds of one clock; both 0 where they could not be taken.
struct Activity {
  enum class Kind : uint8_t { Call, Kernel, Copy, Fill } kind = Kind::Call;
  std::string_view name;                          // of a call or kernel
  Direction direction = Direction::HostToDevice;  // of a copy
  uint64_t begin = 0, end = 0;
  uint64_t bytes = 0;   // of copies and fills
  unsigned device = 0;  // where a kernel, copy or fill ran
};

struct ActivityTotals {
  Amounts calls;    // by callName
  Amounts kernels;  // by kernelName
  std::array<Amount, kFamilies> families{};
  std::array<Amount, kDirections> copies{};
  Amount fills;
  double busy_seconds = 0;  // in which a kernel, copy or fill ran; of several devices the mean
  uint64_t untimed = 0;     // records that count without a time
  uint64_t malformed = 0;   // records that end before they begin: left out

  /// All of one call, whatever is behind its name: "cudaLaunchKernel" has cudaLaunchKernelExC too.
  Amount callsThatBegin(std::string_view name) const;
  Amount allCalls() const;
  Amount nccl() const;
};

/// The time in which something ran, of intervals that overlap and come in any order.
class BusyTime {
 public:
  /// In nanoseconds. An interval that ends before it begins is the caller's mistake.
  void add(uint64_t begin, uint64_t end);
  /// Length of the union, within [from, to).
  uint64_t within(uint64_t from, uint64_t to);

 private:
  void merge();
  std::vector<std::pair<uint64_t, uint64_t>> intervals_;
  size_t merge_at_ = 1 << 16;  // memory grows with the gaps, not with what was added
};

/// Not thread-safe: the one thread that drains the buffers uses it.
class ActivitySum {
 public:
  void add(const Activity& activity);
  /// What was added, with busy time within [begin, end), and starts anew.
  ActivityTotals take(uint64_t begin, uint64_t end);

 private:
  struct Kernel {
    Family family = Family::Compute;
    Amount amount;
  };
  std::map<std::string, Kernel, std::less<>> kernels_;  // by the name as it came
  Amounts calls_;
  ActivityTotals totals_;
  std::map<unsigned, BusyTime> busy_;  // by device
};

/// Views api, device and kernel of DESIGN's categories; `wall_seconds` less the busy time is the device's idle time.
void addActivity(Amounts& breakdown, const ActivityTotals& totals, double wall_seconds);

struct Findings {
  Amounts breakdown;                     // breakdown.h
  std::optional<Amount> all_reduce;      // c10d's, from the start of each to its end; nothing: not measured
  std::optional<ActivityTotals> device;  // of a GPU; nothing: no GPU, or no CUPTI
  std::vector<std::string> notes;        // what a reader of the result must know
};

class Probe {
 public:
  virtual ~Probe() = default;
  /// What takes time before it can start.
  virtual void prepare() = 0;
  /// On an idle device. What happened before is not counted.
  virtual void start() = 0;
  /// On an idle device again. `wall_seconds`: between the two.
  virtual Findings stop(double wall_seconds) = 0;
};

/// What a record of torch's is counted as: "MmBackward0" for autograd's work around it too, "backward of
/// expc::kernels::Depthwise" for a function of ours, else its name. `call` says whether it counts as one.
std::string operatorName(std::string_view record, bool& call);

/// For a CPU: own time of torch's operators and the time of Gloo's all-reduces, from RecordFunction callbacks. One at a
/// time in a process. About 0.3 us an operator.
std::unique_ptr<Probe> makeOperatorProbe();

}  // namespace expc::profile
