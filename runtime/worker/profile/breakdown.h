#pragma once

// A breakdown of the time of profiled steps, by name. A key is a view and a category:
// "api.cudaLaunchKernel". Views:
//   step      phases of the training thread; they do not overlap on a CPU
//   beside    work that runs beside these phases
//   operator  own time of torch's operators, on a CPU
//   api       host time in calls of the CUDA runtime
//   device    a GPU's time by family of kernels, direction of copies, and idle
//   kernel    a GPU's time by name of kernel
// In a result each is a series, "profile.api.cudaLaunchKernel", of three numbers: seconds, count
// and bytes, as means over the ranks. "profile.total" has the seconds and the number of the
// profiled steps.

#include <llvm/Support/JSON.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/llvm.h"

namespace expc::comm {
class Communicator;
}

namespace expc::profile {

/// An amount of work. Means over ranks make counts and bytes fractional.
struct Amount {
  double seconds = 0;
  double count = 0;
  double bytes = 0;

  Amount& operator+=(const Amount& other) {
    seconds += other.seconds;
    count += other.count;
    bytes += other.bytes;
    return *this;
  }
};

/// Amounts by name. The comparison is transparent, so names are looked up without a copy.
using Amounts = std::map<std::string, Amount, std::less<>>;

/// Adds `amounts` to `breakdown`, with "view." in front of each name. If there are more than `most`
/// names, those with the least time become one, "others".
void addView(Amounts& breakdown, std::string_view view, const Amounts& amounts, size_t most = SIZE_MAX);

/// One line of text, to be sent to another rank, and its inverse; fromText() of anything else is
/// empty.
std::string toText(const Amounts& breakdown);
Amounts fromText(std::string_view text);

/// Means over the ranks. A name that a rank lacks counts as zero there.
Amounts meanOf(const std::vector<Amounts>& ranks);

/// Adds the breakdown to a result's series.
void addSeries(json::Object& series, const Amounts& breakdown);

// From the values that each rank measured to those of the trial:

/// How the ranks' values become one.
enum class Over { Max, Sum, Mean };

/// A metric as one rank measured it; no value if this device cannot measure it.
struct Measure {
  std::string name;
  std::optional<double> value;
  Over over = Over::Max;
};

/// Reduces metrics over the ranks into `metrics`. Every rank calls it with the same names in the
/// same order. A metric that some rank lacks is null; one that is not finite on some rank is NaN.
void reduce(comm::Communicator& communicator, const std::vector<Measure>& measures, json::Object& metrics);

/// Gives every rank the texts of all ranks, in their order. A text must not end with white space.
std::vector<std::string> gatherTexts(comm::Communicator& communicator, const std::string& text);

/// Replaces a rank's breakdown by the mean over the ranks, and its notes by those of all ranks,
/// each once. Every rank calls it.
void gather(comm::Communicator& communicator, Amounts& breakdown, std::vector<std::string>& notes);

}  // namespace expc::profile
