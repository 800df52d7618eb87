#pragma once

// The orientation that a camera wrote into a JPEG's EXIF header. Decoding ignores it, as PIL and torchvision do, so a
// picture that viewers turn is trained on unturned.

#include <cstdint>

#include "runtime/base/llvm.h"

namespace expc::data {

/// The value of EXIF's tag Orientation: 1 as stored, 2 to 8 turned or mirrored. 1 also for a file without the tag, in
/// another format, or damaged.
int orientationOf(ArrayRef<uint8_t> bytes);

}  // namespace expc::data
