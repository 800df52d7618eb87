#pragma once

// Decodes JPEG and PNG bytes into 8-bit red, green and blue, equal to the bytes of PIL's open().convert("RGB"), so that
// results can be compared with Python programs image by image. Input may come from anywhere: sizes are checked before
// anything is allocated, and nothing in a file can crash the process.

#include <cstdint>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/data/images/images.h"

namespace expc::data {

/// The most that a header may ask for; a larger image is treated as corrupt or hostile.
inline constexpr int64_t kLargestSide = 16384;             // pixels
inline constexpr int64_t kMostPixels = int64_t{1} << 26;   // 192 MiB decoded
inline constexpr int64_t kLargestFile = int64_t{1} << 28;  // bytes

/// The memory for a decoded image: `out` if the image has the `wanted` shape, so that no copy is needed; else
/// `scratch`.
struct Destination {
  Shape wanted;
  uint8_t* out = nullptr;
  std::vector<uint8_t>* scratch = nullptr;

  /// The memory for an image of rows x cols x 3 bytes.
  uint8_t* place(int64_t rows, int64_t cols) const;
};

/// Decodes an image. Its format is told by its first bytes, whatever the file is called. Grey becomes three equal
/// channels and a palette its colours; 16 bits become the upper 8, except 16-bit grey, where values above 255 become
/// white as in PIL; alpha is dropped; orientation in EXIF is ignored; CMYK is refused. Errors are CorruptImage without
/// the file's name, which the caller adds.
Expected<Pixels> decode(ArrayRef<uint8_t> bytes, const Destination& to);

/// The shape and format that a file's header states.
struct Header {
  Shape shape;
  bool png = false;  // PNG if true, else JPEG
};
/// Reads a header without decoding the image. Errors as for decode().
Expected<Header> readHeader(ArrayRef<uint8_t> bytes);

}  // namespace expc::data
