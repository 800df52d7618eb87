#pragma once

#include <llvm/Support/Error.h>

#include <cstdint>

#include "runtime/worker/data/image_set.h"
#include "runtime/worker/data/preparer.h"

namespace expc::data {

/// What a loader reads: items that can be prepared one by one, in any order and from several threads at once.
class Source {
 public:
  virtual ~Source() = default;
  /// Items there are.
  virtual int64_t count() const = 0;
  /// Bytes of one prepared image.
  virtual int64_t imageBytes() const = 0;
  /// Writes item `index` (imageBytes() bytes) and its label.
  virtual llvm::Error fill(int64_t index, void* image, int64_t* label) const = 0;
};

/// Images of a set, scaled and normalised (see Preparer). Keeps a reference: the set must live longer.
class ScaledImages : public Source {
 public:
  ScaledImages(const ImageSet& set, int64_t size, Layout layout, Element element)
      : set_(set), preparer_({size, size, kChannels, layout, element, true}) {}

  int64_t count() const override { return set_.count; }
  int64_t imageBytes() const override { return static_cast<int64_t>(preparer_.preparation().imageBytes()); }
  llvm::Error fill(int64_t index, void* image, int64_t* label) const override;

 private:
  const ImageSet& set_;
  Preparer preparer_;
};

}  // namespace expc::data
