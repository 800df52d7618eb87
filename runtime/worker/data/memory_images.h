#pragma once

// A set of grey images that are held in memory: what IDX files and `synthetic` give.

#include <utility>

#include "runtime/worker/data/image_set.h"
#include "runtime/worker/data/images.h"

namespace expc::data {

class MemoryImages : public Images {
 public:
  explicit MemoryImages(ImageSet set) : set_(std::move(set)) {}

  int64_t count() const override { return set_.count; }
  int64_t classes() const override { return set_.classes; }
  const std::string& origin() const override { return set_.origin; }
  std::optional<Shape> shape() const override { return Shape{set_.rows, set_.cols, 1}; }
  int64_t label(int64_t index) const override { return set_.labels[static_cast<size_t>(index)]; }
  llvm::Expected<Pixels> read(int64_t index, std::vector<uint8_t>&) const override {
    return Pixels{set_.image(index), set_.rows, set_.cols, 1};
  }

 private:
  ImageSet set_;
};

}  // namespace expc::data
