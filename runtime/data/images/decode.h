#pragma once

// JPEG and PNG bytes into 8-bit red, green and blue, as PIL's open().convert("RGB") gives them.

#include <llvm/ADT/ArrayRef.h>
#include <llvm/Support/Error.h>

#include <cstdint>
#include <vector>

#include "runtime/data/images/images.h"

namespace expc::data {

/// What a header may ask for; more is taken for a corrupt or hostile file.
inline constexpr int64_t kLargestSide = 16384;             // pixels
inline constexpr int64_t kMostPixels = int64_t{1} << 26;   // 192 MiB decoded
inline constexpr int64_t kLargestFile = int64_t{1} << 28;  // bytes

/// Where a decoded image may go: to `out` where it has the `wanted` shape, else to the scratch.
struct Destination {
  Shape wanted;
  uint8_t* out = nullptr;
  std::vector<uint8_t>* scratch = nullptr;

  /// rows x cols x 3 bytes.
  uint8_t* place(int64_t rows, int64_t cols) const;
};

/// Decodes by what the bytes begin with, whatever the file is called. Grey becomes three equal channels, a palette its
/// colours, 16 bits the upper 8 (16-bit grey: values above 255 are white, as in PIL); alpha is dropped; orientation in
/// EXIF is not looked at. CMYK is refused. Errors are CorruptImage without the file's name: the caller puts it before.
llvm::Expected<Pixels> decode(llvm::ArrayRef<uint8_t> bytes, const Destination& to);

/// What a file's header says, without decoding it. Errors as above.
struct Header {
  Shape shape;
  bool png = false;  // else JPEG
};
llvm::Expected<Header> readHeader(llvm::ArrayRef<uint8_t> bytes);

}  // namespace expc::data
