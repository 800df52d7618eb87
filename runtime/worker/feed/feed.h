#pragma once

// From a loader's batches to what the network takes: tensors on the rank's device, scaled, normalised, in its type and
// layout. Here meet loader, pin_memory, transfer_dtype and preprocessing.

#include <ATen/core/Tensor.h>
#include <llvm/Support/Error.h>

#include <memory>
#include <optional>

#include "runtime/worker/data/batches.h"
#include "runtime/worker/data/images.h"
#include "runtime/worker/device/device.h"
#include "runtime/worker/feed/loaders.h"

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

class Feed {
 public:
  virtual ~Feed() = default;
  /// The next batch of this rank, or nothing after the last epoch. The one before it must have been given back.
  virtual llvm::Expected<std::optional<DeviceBatch>> next() = 0;
  /// Call it when a step has been queued: where copies have a stream of their own, the next batch is taken from the
  /// loader and its copy queued, to run beside that step. What goes wrong is next()'s to say.
  virtual void ahead() {}
  /// Seconds that were spent waiting for the loader.
  virtual double waitSeconds() const = 0;
  /// Images that could not be decoded so far.
  virtual int64_t skipped() const = 0;
};

/// What crosses to the device (transfer_dtype of stdlib/image.exp).
enum class Transfer { UInt8, AsInput, Compute };

struct FeedOptions {
  LoaderChoice loader;
  /// order, batch, drop_last, epochs and on_corrupt are the caller's; the rest is computed here.
  data::BatchOptions batches;
  int64_t size = 224;
  bool channels_last = false;
  c10::ScalarType input = c10::ScalarType::Float;    // what the network takes: float or double
  c10::ScalarType compute = c10::ScalarType::Float;  // what it computes in: any floating type
  Transfer transfer = Transfer::AsInput;
  bool on_device = false;  // scale and normalise there
  bool pinned = false;
  /// Of each batch that crosses, this part is delivered: slice 1 of 4 is the second quarter. A batch that does not
  /// divide gives the last slice fewer images, or none.
  int64_t slice = 0;
  int64_t slices = 1;
};

/// How the loader prepares images of `shape` (nothing: of many shapes) for these options.
data::Preparation preparationOf(const FeedOptions& options, const std::optional<data::Shape>& shape);

/// Opens the loader and delivers its batches on the device. `images` and `device` must live longer.
llvm::Expected<std::unique_ptr<Feed>> makeFeed(const data::Images& images, FeedOptions options, device::Device& device);

}  // namespace expc::feed
