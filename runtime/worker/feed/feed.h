#pragma once

// From a loader's batches to what the network takes: tensors on the rank's device, scaled, normalised, in its type and
// layout. Here meet loader, pin_memory, transfer_dtype and preprocessing.

#include <ATen/core/Tensor.h>
#include <llvm/Support/Error.h>

#include <memory>
#include <optional>

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
  /// The next batch of this rank, or nothing after the last epoch.
  virtual llvm::Expected<std::optional<DeviceBatch>> next() = 0;
  /// Seconds in which next() waited for the loader.
  virtual double waitSeconds() const = 0;
  /// Images that could not be decoded so far.
  virtual int64_t skipped() const = 0;
};

}  // namespace expc::feed
