#pragma once

// One item of a batch: read, prepared, put in its place; and what an image that cannot be decoded does.

#include <llvm/Support/Error.h>

#include <cstdint>
#include <vector>

#include "runtime/worker/data/batches.h"
#include "runtime/worker/data/images.h"
#include "runtime/worker/data/preparer.h"

namespace expc::data {

/// Safe from several threads at once. `images` must live longer.
class ItemWriter {
 public:
  ItemWriter(const Images& images, const LoaderOptions& options, bool past_caches = false)
      : images_(images), preparer_(options.preparation, past_caches), on_corrupt_(options.on_corrupt) {}

  /// Writes the image at `position` of an epoch's order, and its label. The error names the image.
  ///
  /// With OnCorrupt::Replace an image that cannot be read is replaced by the next one of `order` that can be, label
  /// included, from the order's start again after its end, and of the set where none of the order can be: ranks share a
  /// set as its order falls out. Nothing else moves, so every other place keeps its image whatever worker prepares it,
  /// and that next image comes once more at its own place. It is an error when no image of the set can be read. With it
  /// and with OnCorrupt::LeaveOut `skipped` grows by one. What throws is an error too.
  llvm::Error write(const std::vector<int64_t>& order, int64_t position, void* image, int64_t* label,
                    std::vector<uint8_t>& scratch, int64_t& skipped) const;

  size_t imageBytes() const { return preparer_.preparation().imageBytes(); }

 private:
  const Images& images_;
  Preparer preparer_;
  OnCorrupt on_corrupt_;
};

}  // namespace expc::data
