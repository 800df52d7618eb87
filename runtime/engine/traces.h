#pragma once

// Traces of `expc run --trace FOLDER`: decides which trials leave a timeline of what they did, and where. The worker
// writes the files; this only names them and looks whether they are there.

#include <cstdint>
#include <set>
#include <string>

#include "runtime/base/llvm.h"
#include "runtime/plan/plan.h"

namespace expc::engine {

/// Traces the first profile trial of each point that ends well, and no other kind of trial. Tracing slows down what it
/// sees, so workers trace steps after the measured ones.
class Traces {
 public:
  /// `folder` is absolute; "" means no traces.
  explicit Traces(std::string folder) : folder_(std::move(folder)) {}
  /// Makes the folder. The error says why traces cannot be written there.
  Error prepare() const;
  /// "EXPC_TRACE=FOLDER/precision=fp32_gpus=2.trial7" for the ranks of a trial, which add ".rank0.json"; "" for one
  /// that is not traced.
  std::string variable(TrialKind kind, const Plan& plan, const Point& point, int64_t trial) const;
  /// To be called after each trial. A trial that ended well but left no trace is noted, and the next profile trial of
  /// its point tries again.
  void ended(TrialKind kind, const Plan& plan, const Point& point, int64_t trial, bool well);
  /// Says where the traces are and how to open them, or why there are none; "" without a folder.
  std::string summary(const Plan& plan) const;

 private:
  std::string path(const Plan& plan, const Point& point, int64_t trial) const;

  std::string folder_;
  std::set<std::string> traced_, untraced_;  // ids of points with a trace, and of those that left none
  bool failed_ = false;                      // some profile trial failed
};

}  // namespace expc::engine
