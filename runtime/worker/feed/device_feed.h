#pragma once

// What makeFeed() puts behind a loader. Apart, so that tests can give it a device's queue that they control.

#include <memory>
#include <optional>

#include "runtime/worker/device/in_flight.h"
#include "runtime/worker/feed/feed.h"
#include "runtime/worker/feed/on_device.h"

namespace expc::feed {

/// Batches that the caller of a feed may make the loader keep: one that is used, one whose copy is queued, and one
/// whose copy may not be done.
inline constexpr unsigned kHeldWithQueue = 3;

class DeviceFeed final : public Feed {
 public:
  /// `queue` is null where device memory is the host's. `ahead`: the next batch's copy is queued by ahead().
  DeviceFeed(std::unique_ptr<data::Batches> batches, FeedOptions options, data::Preparation preparation,
             c10::Device device, std::unique_ptr<device::CopyQueue> queue, bool ahead);
  /// Waits for copies that are under way, unless the device has failed (InFlight).
  ~DeviceFeed() override;

  llvm::Expected<std::optional<DeviceBatch>> next() override;
  void ahead() override;
  double waitSeconds() const override { return batches_->waitSeconds(); }
  int64_t skipped() const override { return batches_->skipped(); }

 private:
  /// A batch whose copies were queued.
  struct Staged {
    DeviceBatch batch;
    device::CopyQueue::Mark mark;
  };
  using Staging = llvm::Expected<std::optional<Staged>>;

  Staging stage();
  void cut(DeviceBatch& batch) const;

  std::unique_ptr<data::Batches> batches_;
  FeedOptions options_;
  data::Preparation preparation_;
  c10::Device device_;
  std::unique_ptr<device::CopyQueue> queue_;
  bool stages_ahead_;
  DevicePreparer on_device_;
  std::optional<device::InFlight> in_flight_;  // where there is a queue
  std::optional<Staging> next_;                // staged ahead
};

}  // namespace expc::feed
