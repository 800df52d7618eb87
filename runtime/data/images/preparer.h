#pragma once

// From a decoded image to its place in a batch: scaled, normalised, in the batch's type and layout.

#include <llvm/Support/Error.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/data/images/images.h"
#include "runtime/data/images/preparation.h"
#include "runtime/data/images/taps.h"

namespace expc::data {

/// Prepares images one by one; all members may be called from several threads at once.
///
/// Scaling is bilinear (torch's interpolate, align_corners false); an axis that shrinks uses the widened triangle of
/// the antialiased form, torchvision's default. What is rounded when follows what a user of torchvision gets:
/// - grey images (scenario A): ToTensor, Resize, Normalize. Nothing is rounded to 8 bits in between.
/// - colour images (scenario B): Resize, ToTensor, Normalize on PIL images. PIL scales across and then down in fixed
/// point
///   and rounds to 8 bits after each; so is it done here, bit for bit.
/// Elements are computed in fp32 (Float64: in fp64) and rounded to nearest even; UInt8 of a grey image rounds half up.
class Preparer {
 public:
  /// With `past_caches` by stores that go past the caches, where stream.h can: for batches larger than these.
  explicit Preparer(const Preparation& preparation, bool past_caches = false);
  ~Preparer();

  const Preparation& preparation() const { return preparation_; }

  /// Writes preparation().imageBytes() bytes, which may begin anywhere. An error when the image has neither 1 nor 3
  /// channels, or 3 where 1 is wanted, or a side of 0.
  llvm::Error apply(const Pixels& image, void* out) const;
  /// Reads one of a set and prepares it. `scratch` is kept from call to call, one for each thread.
  llvm::Error fill(const Images& images, int64_t index, void* out, std::vector<uint8_t>& scratch) const;

 private:
  struct Tables;
  std::shared_ptr<const Tables> tables(int64_t rows, int64_t cols) const;

  Preparation preparation_;
  bool past_caches_;
  mutable std::mutex mutex_;
  mutable std::vector<std::shared_ptr<const Tables>> recent_;  // most recently made first
};

}  // namespace expc::data
