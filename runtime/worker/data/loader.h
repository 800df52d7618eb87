#pragma once

// What our loaders do around the batches that each takes in its own way.

#include <llvm/Support/Error.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "runtime/worker/data/batch_plan.h"
#include "runtime/worker/data/slots.h"

namespace expc::data {

/// The first error comes again at every later call.
class Loader : public Batches {
 public:
  llvm::Expected<std::optional<HostBatch>> next() final;
  double waitSeconds() const final { return wait_seconds_; }
  int64_t skipped() const final { return skipped_; }

 protected:
  /// `held`: slots that the caller may keep.
  explicit Loader(unsigned held) : held_(held) {}

  /// The next batch in order, or nothing after the last.
  virtual llvm::Expected<std::optional<HostBatch>> take() = 0;
  /// After the first error: nothing is taken any more.
  virtual void stop() {}
  /// What lies in a slot of out_, of which `skipped` images could not be decoded.
  HostBatch handOver(size_t slot, const PlannedBatch& planned, int64_t skipped);

  std::shared_ptr<Slots> out_;  // where batches are handed over; null where each has memory of its own

 private:
  const unsigned held_;
  std::string failure_;
  double wait_seconds_ = 0;
  int64_t skipped_ = 0;
};

}  // namespace expc::data
