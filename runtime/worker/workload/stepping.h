#pragma once

// A training that a trial steps through, whatever it trains.

#include <llvm/Support/Error.h>

#include <string>
#include <string_view>
#include <vector>

#include "runtime/worker/workload/workload.h"

namespace expc::workload {

class Stepping {
 public:
  virtual ~Stepping() = default;
  /// One step of the optimiser on this rank. False after the last one.
  virtual llvm::Expected<bool> step() = 0;
  /// Seconds so far that this rank waited for batches.
  virtual double loadWaitSeconds() const = 0;
  /// Losses of the steps since the last call, over all ranks. An error names the first step whose loss is not finite.
  /// Waits for the device; every rank calls it.
  virtual llvm::Expected<std::vector<double>> takeLosses() = 0;
  /// What a reader of the result should know.
  virtual const std::vector<std::string>& notes() const = 0;
};

/// `count` steps, with a mark of the device after each of them if `marked`. A training that ends before is no error.
llvm::Error runSteps(TrialContext& context, Stepping& training, int64_t count, std::string_view phase, bool marked);

}  // namespace expc::workload
