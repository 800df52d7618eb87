#pragma once

// From what each rank measured to what the trial says.

#include <llvm/Support/JSON.h>

#include <optional>
#include <string>
#include <vector>

#include "runtime/worker/comm/communicator.h"
#include "runtime/worker/profile/breakdown.h"

namespace expc::profile {

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

struct Gathered {
  Amounts breakdown;               // means over the ranks
  std::vector<std::string> notes;  // of all ranks, each once
};
/// Every rank calls it, and has the whole afterwards.
Gathered gather(comm::Communicator& communicator, const Amounts& breakdown, const std::vector<std::string>& notes);

}  // namespace expc::profile
