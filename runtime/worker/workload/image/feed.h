#pragma once

// From a loader's batches to what the network takes: tensors on the rank's device, scaled, normalised, in its type and
// layout. Here meet loader, pin_memory, transfer_dtype and preprocessing.

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>

#include "runtime/base/llvm.h"
#include "runtime/data/images/batches.h"
#include "runtime/data/images/images.h"
#include "runtime/worker/device/device.h"

namespace expc::feed {

struct DeviceBatch {
  at::Tensor images;  // count x 3 x size x size
  at::Tensor labels;  // count, int64
  int64_t count = 0;
  int64_t epoch = 0;
  int64_t number = 0;
  bool last = false;
  std::shared_ptr<void> holder;  // host memory under a tensor on the CPU
};

/// What crosses to the device (transfer_dtype of stdlib/image.exp).
enum class Transfer { UInt8, AsInput, Compute };

/// Who prepares batches: data/batches.h and dali/dali_loader.h.
enum class LoaderKind { DataLoader, Dali, Native };

struct FeedOptions {
  LoaderKind loader = LoaderKind::DataLoader;
  data::LoaderOptions batches;  // preparation, memory and held are computed here, the rest is the caller's
  int64_t size = 224;
  bool channels_last = false;
  c10::ScalarType input = c10::ScalarType::Float;    // what the network takes: float or double
  c10::ScalarType compute = c10::ScalarType::Float;  // what it computes in: any floating type
  Transfer transfer = Transfer::AsInput;
  bool on_device = false;  // scale and normalise there, by torch's operators
  bool pinned = false;
  /// Whether the host waits for each copy of a batch, and so for whatever was queued before it.
  bool blocking = false;
  /// Of each batch that crosses, this part is delivered: slice 1 of 4 is the second quarter. A batch that does not
  /// divide gives the last slice fewer images, or none.
  int64_t slice = 0;
  int64_t slices = 1;
};

/// Batches that the caller of a feed may make the loader keep: one that is used, one whose copy is queued, and one
/// whose copy may not be done.
inline constexpr unsigned kHeldWithQueue = 3;

class Feed {
 public:
  /// `queue` is null where device memory is the host's. `ahead`: the next batch's copy is queued by ahead(). Tests give
  /// a queue that they control; others call makeFeed().
  Feed(std::unique_ptr<data::Batches> batches, FeedOptions options, data::Preparation preparation, c10::Device device,
       std::unique_ptr<device::CopyQueue> queue, bool ahead);
  /// Waits for copies that are under way, unless the device has failed (InFlight).
  ~Feed();

  /// The next batch of this rank, or nothing after the last epoch. The one before it must have been given back.
  Expected<std::optional<DeviceBatch>> next();
  /// Call it when a step has been queued: where copies have a stream of their own, the next batch is taken from the
  /// loader and its copy queued, to run beside that step. What goes wrong is next()'s to say.
  void ahead();
  /// Seconds that were spent waiting for the loader.
  double waitSeconds() const { return batches_->waitSeconds(); }
  /// Images that could not be decoded so far.
  int64_t skipped() const { return batches_->skipped(); }

 private:
  /// A batch whose copies were queued.
  struct Staged {
    DeviceBatch batch;
    device::CopyQueue::Mark mark;
  };
  using Staging = Expected<std::optional<Staged>>;

  Staging stage();
  void cut(DeviceBatch& batch) const;
  at::Tensor prepared(const at::Tensor& images) const;

  std::unique_ptr<data::Batches> batches_;
  FeedOptions options_;
  data::Preparation preparation_;
  c10::Device device_;
  std::unique_ptr<device::CopyQueue> queue_;
  bool stages_ahead_;
  at::Tensor factor_, offset_;                 // for prepared(): one multiplication and one addition a value
  std::optional<device::InFlight> in_flight_;  // where there is a queue
  std::optional<Staging> next_;                // staged ahead
};

/// How the loader prepares images of `shape` (nothing: of many shapes) for these options.
data::Preparation preparationOf(const FeedOptions& options, const std::optional<data::Shape>& shape);

/// Opens the loader and delivers its batches on the device. `images` and `device` must live longer.
Expected<std::unique_ptr<Feed>> makeFeed(const data::Images& images, FeedOptions options, device::Device& device);

}  // namespace expc::feed
