#pragma once

// Class folders of drawn images.

#include <llvm/Support/Error.h>

#include <cstdint>
#include <string>

#include "runtime/base/parallel.h"

namespace expc::dataset {

struct ShapeOptions {
  int64_t size = 300;  // pixels, kSmallestShape to kLargestShape
  int64_t count =
      0;  // training images, at least one for each class; a fifth of it, and at least as many as classes, for testing
  int64_t classes = 10;  // 2 to kMostShapeClasses
  bool png = false;      // else JPEG
  uint64_t seed = 1;
  unsigned threads = 1;
};

/// Test images that go with `count` training images.
int64_t shapeTests(const ShapeOptions& options);

/// Writes folder/train/CLASS/NUMBER.jpg, folder/test/CLASS/NUMBER.jpg and folder/shapes.json, which says with what
/// arguments. All is drawn beside the folder and moved there in the end. A folder that is there must be empty, or with
/// `replace` one that this function made.
llvm::Error makeShapes(const std::string& folder, const ShapeOptions& options, bool replace,
                       const base::Tick& tick = nullptr);

}  // namespace expc::dataset
