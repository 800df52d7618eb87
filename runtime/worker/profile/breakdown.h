#pragma once

// Where the time of profiled steps went, by name. A key is a view and a category, "api.cudaLaunchKernel". Views:
//   step      phases of the training thread; they do not overlap on a CPU
//   beside    what runs beside these phases
//   operator  own time of torch's operators, on a CPU
//   api       host time in calls of the CUDA runtime
//   device    a GPU's time by family of kernels, direction of copies, and idle
//   kernel    a GPU's time by name of kernel
// In a result they are series, "profile.api.cudaLaunchKernel": seconds, count and bytes, means over the ranks; and
// "profile.total": seconds and number of the profiled steps.

#include <llvm/Support/JSON.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace expc::comm {
class Communicator;
}

namespace expc::profile {

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

/// Transparent: names are looked up without a copy.
using Amounts = std::map<std::string, Amount, std::less<>>;

/// `amounts` with "view." in front of each name, into `breakdown`. Of more than `most` names the ones with the least
/// time become one, "others".
void addView(Amounts& breakdown, std::string_view view, const Amounts& amounts, size_t most = SIZE_MAX);

/// One line of text for the way to another rank, and back; text that is not one gives nothing.
std::string toText(const Amounts& breakdown);
Amounts fromText(std::string_view text);

/// Means over ranks; a name that some of them lack counts as none there.
Amounts meanOf(const std::vector<Amounts>& ranks);

/// Into a result's series.
void addSeries(llvm::json::Object& series, const Amounts& breakdown);

// From what each rank measured to what the trial says.

enum class Over { Max, Sum, Mean };

/// A metric as one rank has it; nothing: not on this device. `over`: what the ranks' values make of it.
struct Measure {
  std::string name;
  std::optional<double> value;
  Over over = Over::Max;
};

/// Every rank calls it with the same names in the same order. A metric that one rank lacks is null.
void reduce(comm::Communicator& communicator, const std::vector<Measure>& measures, llvm::json::Object& metrics);

/// Every rank's text, by rank, on every rank. A text has no white space at its end.
std::vector<std::string> gatherTexts(comm::Communicator& communicator, const std::string& text);

/// Makes of a rank's breakdown the means over the ranks, and of its notes those of all ranks, each once. Every rank
/// calls it.
void gather(comm::Communicator& communicator, Amounts& breakdown, std::vector<std::string>& notes);

}  // namespace expc::profile
