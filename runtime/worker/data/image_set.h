#pragma once

// Images as they come from disk: 8-bit, one channel, all of one size, held in memory, with a label each. No torch here.

#include <llvm/ADT/StringRef.h>
#include <llvm/Support/Error.h>

#include <cstdint>
#include <string>
#include <vector>

namespace expc::data {

struct ImageSet {
  std::vector<uint8_t> pixels;  // count x rows x cols, row-major, 0 black to 255 white
  std::vector<uint8_t> labels;  // count, each below classes
  int64_t count = 0;
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t classes = 10;
  std::string origin;  // where it came from, for messages

  const uint8_t* image(int64_t index) const { return pixels.data() + index * rows * cols; }
};

/// A training and a test set of the same image size.
struct Dataset {
  ImageSet train;
  ImageSet test;
};

/// Reads an IDX pair (http://yann.lecun.com/exdb/mnist): images (magic 0x00000803, count, rows, cols, then bytes) and
/// labels (magic 0x00000801, count, then bytes), all counts big-endian. Errors name the file, what was expected and
/// what was found; labels must be below `classes`, both counts equal and above zero, and no byte missing or left over.
llvm::Expected<ImageSet> readIdxPair(const std::string& images_path, const std::string& labels_path,
                                     int64_t classes = 10);

/// Reads the four files of MNIST's folder layout: train-images-idx3-ubyte, train-labels-idx1-ubyte,
/// t10k-images-idx3-ubyte, t10k-labels-idx1-ubyte. Compressed files (.gz) are not read; the error says how to unpack
/// them.
llvm::Expected<Dataset> readMnist(const std::string& folder);

/// Deterministic images of 28 x 28 in ten classes, `count` for training and a fifth of it (at least ten) for testing:
/// three smooth spots whose places belong to the class, shifted a little, with noise on top. Labels go round in order.
/// The same arguments give the same bytes on every machine. An error when count is below 1 or above 10 million.
llvm::Expected<Dataset> synthetic(int64_t count, uint32_t seed = 0);

}  // namespace expc::data
