#pragma once

// Drawn colour images with a label, so that a study of photographs runs anywhere, and class folders of them. Whole
// numbers only: the same arguments give the same pixels on every machine.

#include <llvm/Support/Error.h>

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/parallel.h"

namespace expc::dataset {

inline constexpr int64_t kMostShapeClasses = 64;                     // 8 forms in 8 colours
inline constexpr int64_t kSmallestShape = 16, kLargestShape = 1024;  // pixels, as the parameter `size`

/// "red_disc": the form and its colour make the class; each label below kMostShapeClasses has its own.
std::string shapeClass(int64_t label);

/// A form of the label's colour, turned, shifted and scaled, on a ground that says nothing about it; as rough as a
/// photograph, so that a JPEG of 300 x 300 has about 20 kB. `number` counts the images of a set. Writes size x size x 3
/// bytes.
void drawShape(int64_t label, int64_t size, uint64_t seed, bool test, int64_t number, uint8_t* out);

/// size x size x 3 bytes as a baseline JPEG: quality 85, colour at half the resolution, as photographs usually are.
llvm::Expected<std::vector<uint8_t>> encodeJpeg(const uint8_t* pixels, int64_t size);
/// The same, without loss.
llvm::Expected<std::vector<uint8_t>> encodePng(const uint8_t* pixels, int64_t size);

struct ShapeOptions {
  int64_t size = 300;    // pixels, kSmallestShape to kLargestShape
  int64_t count = 0;     // training images, at least one for each class
  int64_t classes = 10;  // 2 to kMostShapeClasses
  bool png = false;      // else JPEG
  uint64_t seed = 1;
  unsigned threads = 1;

  /// Test images that go with them: a fifth, and at least one for each class.
  int64_t tests() const { return count / 5 < classes ? classes : count / 5; }
};

/// Writes folder/train/CLASS/NUMBER.jpg, folder/test/CLASS/NUMBER.jpg and folder/shapes.json, which says with what
/// arguments. All is drawn beside the folder and moved there in the end. A folder that is there must be empty, or with
/// `replace` one that this function made.
llvm::Error makeShapes(const std::string& folder, const ShapeOptions& options, bool replace,
                       const base::Tick& tick = nullptr);

}  // namespace expc::dataset
