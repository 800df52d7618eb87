#pragma once

// Red, green and blue into the bytes of a JPEG or PNG file.

#include <llvm/Support/Error.h>

#include <cstdint>
#include <vector>

namespace expc::dataset {

/// size x size x 3 bytes as a baseline JPEG: quality 85, colour at half the resolution, as photographs usually are.
llvm::Expected<std::vector<uint8_t>> encodeJpeg(const uint8_t* pixels, int64_t size);
/// The same, without loss.
llvm::Expected<std::vector<uint8_t>> encodePng(const uint8_t* pixels, int64_t size);

}  // namespace expc::dataset
