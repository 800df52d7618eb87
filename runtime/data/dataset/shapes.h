#pragma once

// Drawn colour images with labels, so that a study of photographs runs anywhere without a download: `expc data make`.
// Drawing uses whole numbers only, so the same arguments give the same pixels on every machine.

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/base/parallel.h"

namespace expc::dataset {

inline constexpr int64_t kMostShapeClasses = 64;                     // 8 forms in 8 colours
inline constexpr int64_t kSmallestShape = 16, kLargestShape = 1024;  // pixels, as the parameter `size`

/// The name of a class, such as "red_disc": its form and colour. Each label below kMostShapeClasses has another
/// combination.
std::string shapeClass(int64_t label);

/// Draws image `number` of a set: a form in the label's colour, turned, shifted and scaled, on a ground that does not
/// depend on the label. The image is as rough as a photograph, so that decoding costs as much: a JPEG of 300 x 300 has
/// about 20 kB. Writes size x size x 3 bytes.
void drawShape(int64_t label, int64_t size, uint64_t seed, bool test, int64_t number, uint8_t* out);

/// Encodes size x size x 3 bytes as a baseline JPEG with quality 85 and colour at half the resolution, the usual form
/// of photographs.
Expected<std::vector<uint8_t>> encodeJpeg(const uint8_t* pixels, int64_t size);
/// Encodes the same pixels without loss.
Expected<std::vector<uint8_t>> encodePng(const uint8_t* pixels, int64_t size);

/// A set of drawn images.
struct ShapeOptions {
  int64_t size = 300;    // in pixels, kSmallestShape to kLargestShape
  int64_t count = 0;     // of training images, at least one for each class
  int64_t classes = 10;  // 2 to kMostShapeClasses
  bool png = false;      // PNG files instead of JPEG
  uint64_t seed = 1;
  unsigned threads = 1;

  /// The number of test images: a fifth of `count`, and at least one for each class.
  int64_t tests() const { return count / 5 < classes ? classes : count / 5; }
};

/// Writes folder/train/CLASS/NUMBER.jpg, folder/test/CLASS/NUMBER.jpg, and folder/shapes.json, which records the
/// arguments. Everything is drawn beside the folder and moved there at the end, so the folder is complete or absent. A
/// folder that exists must be empty, or, with `replace`, one that this function made.
Error makeShapes(const std::string& folder, const ShapeOptions& options, bool replace,
                 const base::Tick& tick = nullptr);

}  // namespace expc::dataset
