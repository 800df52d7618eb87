#pragma once

// Grey images of one size that are held in memory, with a label each.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/worker/data/images.h"

namespace expc::data {

class MemoryImages : public Images {
 public:
  /// `pixels`: rows x cols of each image, row-major, 0 black to 255 white; as many labels as images, each below
  /// `classes`.
  MemoryImages(std::string origin, int64_t rows, int64_t cols, std::vector<uint8_t> pixels, std::vector<uint8_t> labels,
               int64_t classes)
      : origin_(std::move(origin)),
        rows_(rows),
        cols_(cols),
        classes_(classes),
        pixels_(std::move(pixels)),
        labels_(std::move(labels)) {}

  int64_t count() const override { return static_cast<int64_t>(labels_.size()); }
  int64_t classes() const override { return classes_; }
  const std::string& origin() const override { return origin_; }
  std::optional<Shape> shape() const override { return Shape{rows_, cols_, 1}; }
  int64_t label(int64_t index) const override { return labels_[static_cast<size_t>(index)]; }
  llvm::Expected<Pixels> read(int64_t index, std::vector<uint8_t>&) const override {
    return Pixels{pixels_.data() + index * rows_ * cols_, rows_, cols_, 1};
  }

 private:
  std::string origin_;
  int64_t rows_, cols_, classes_;
  std::vector<uint8_t> pixels_, labels_;
};

/// Reads the four files of MNIST's folder layout (http://yann.lecun.com/exdb/mnist): train-images-idx3-ubyte,
/// train-labels-idx1-ubyte, t10k-images-idx3-ubyte, t10k-labels-idx1-ubyte. Each has a magic number (0x00000803 or
/// 0x00000801), a count, of images rows and cols, all big-endian, then bytes. Errors name the file, what was expected
/// and what was found; labels are below ten, both counts equal and above zero, and no byte is missing or left over.
/// Compressed files (.gz) are not read; the error says how to unpack them.
llvm::Expected<ImageSets> readMnist(const std::string& folder);

/// Deterministic images of 28 x 28 in ten classes, `count` for training and a fifth of it (at least ten) for testing:
/// three smooth spots whose places belong to the class, shifted a little, with noise on top. Labels go round in order.
/// The same arguments give the same bytes on every machine. An error when count is below 1 or above 10 million.
llvm::Expected<ImageSets> synthetic(int64_t count, uint32_t seed = 0);

}  // namespace expc::data
