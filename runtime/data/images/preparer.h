#pragma once

// From a decoded image to its place in a batch: scaled, normalised, in the batch's type and layout. The results are
// those of torchvision, so that losses can be compared with Python; decode.cpp gives the pixels, row_kernels.h and
// stream.h have the inner loops, taps.h the filters.

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/data/images/images.h"
#include "runtime/data/images/preparation.h"
#include "runtime/data/images/taps.h"

namespace expc::data {

/// Prepares images one by one. All members may be called from several threads at once.
///
/// Scaling is bilinear (torch's interpolate with align_corners=False); an axis that shrinks uses the widened triangle
/// of the antialiased form, torchvision's default. Roundings follow what a user of torchvision gets:
/// - grey images (scenario A): ToTensor, Resize, Normalize. Nothing is rounded to 8 bits in between.
/// - colour images (scenario B): Resize, ToTensor, Normalize on PIL images. PIL scales across and then down, in fixed
/// point, and rounds to 8 bits after each; this does the same, bit for bit.
///
/// Elements are computed in fp32 (for Float64 in fp64) and rounded to nearest even; UInt8 of a grey image rounds half
/// up.
class Preparer {
 public:
  /// `past_caches` uses stores that bypass the caches where stream.h can. It pays off for batches larger than the
  /// caches, which would be evicted before they are read.
  explicit Preparer(const Preparation& preparation, bool past_caches = false);
  ~Preparer();

  const Preparation& preparation() const { return preparation_; }

  /// Writes preparation().imageBytes() bytes to `out`, which needs no alignment. It is an error if the image has
  /// neither 1 nor 3 channels, 3 where 1 is wanted, or a side of 0.
  Error apply(const Pixels& image, void* out) const;
  /// Reads an image of a set and prepares it. `scratch` is kept from call to call, one for each thread. Errors name the
  /// image.
  Error fill(const Images& images, int64_t index, void* out, std::vector<uint8_t>& scratch) const;

 private:
  struct Tables;
  /// The filters for images of this size. They depend on the size only, and most sets have few sizes, so the last ones
  /// are kept.
  std::shared_ptr<const Tables> tables(int64_t rows, int64_t cols) const;

  Preparation preparation_;
  bool past_caches_;
  mutable std::mutex mutex_;
  mutable std::vector<std::shared_ptr<const Tables>> recent_;  // last made first
};

}  // namespace expc::data
