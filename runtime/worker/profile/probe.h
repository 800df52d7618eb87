#pragma once

// What is measured of a profiled trial besides its phases, by kind of device.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/worker/profile/activity.h"

namespace expc::profile {

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
