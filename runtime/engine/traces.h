#pragma once

// `expc run --trace FOLDER`: which trials leave a trace of what they did, and where.

#include <llvm/Support/Error.h>

#include <cstdint>
#include <set>
#include <string>

#include "runtime/plan/plan.h"

namespace expc::engine {

/// Of each point the first profile trial of this run that ends well, and no other kind: tracing slows down what it
/// sees, so workers trace steps after the measured ones.
class Traces {
 public:
  /// "": no traces.
  explicit Traces(std::string folder) : folder_(std::move(folder)) {}
  /// Makes the folder. The error says why traces cannot be written there.
  llvm::Error prepare() const;
  /// "EXPC_TRACE=FOLDER/precision=fp32_gpus=2.trial7" for the ranks of a trial, which add ".rank0.json"; "" for one
  /// that is not traced.
  std::string variable(plan::TrialKind kind, const plan::Plan& plan, const plan::Point& point, int64_t trial) const;
  /// After each trial. One that ended well and left no trace is seen as such: the next one of its point tries again.
  void ended(plan::TrialKind kind, const plan::Plan& plan, const plan::Point& point, int64_t trial, bool well);
  /// What there is to look at, or why there is nothing; "" without a folder.
  std::string summary(const plan::Plan& plan) const;

 private:
  std::string path(const plan::Plan& plan, const plan::Point& point, int64_t trial) const;

  std::string folder_;
  std::set<std::string> traced_, untraced_;  // points
  bool failed_ = false;                      // some profile trial did
};

}  // namespace expc::engine
