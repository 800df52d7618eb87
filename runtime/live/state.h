#pragma once

// What there is to see of a run while it goes on, as its results folder has it.

#include <llvm/Support/Error.h>
#include <llvm/Support/JSON.h>

#include <chrono>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"

namespace expc::live {

/// The state of several studies that one run measures, one after the other. It reads what any reader of the folder
/// reads, holds no lease and writes nothing.
class State {
 public:
  State(std::vector<plan::Plan> plans, std::string folder);

  /// `expc.live/1`: of each study how many trials there are of those that are planned, its verdicts so far, what runs
  /// now with the end of its outputs, and what did not end well. It is made anew where something was recorded since,
  /// and at most once in twenty times as long as making it takes, so that looking costs a run no more than a
  /// twentieth of one core; what runs now is always made anew. A folder that cannot be read is told under `error`.
  std::string json();

 private:
  llvm::Error refresh();

  std::vector<plan::Plan> plans_;
  std::string folder_;
  uint64_t recorded_ = 0;  // bytes of journals that `studies_` is made from
  llvm::json::Array studies_;
  std::string error_;
  std::chrono::steady_clock::time_point not_before_;
};

}  // namespace expc::live
