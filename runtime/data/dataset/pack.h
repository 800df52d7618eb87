#pragma once

// Packs images of any kind into one file (runtime/data/images/packed.h): decoded and scaled once, so that trials need
// not spend time on it.

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/base/parallel.h"
#include "runtime/data/images/images.h"
#include "runtime/data/images/packed.h"

namespace expc::dataset {

/// The form of a packed file.
struct PackOptions {
  int64_t size = 0;  // images are scaled to size x size as PIL does; 0: left as they are, and must have one size
  bool skip_corrupt = false;  // leave images out that cannot be decoded, instead of failing
  unsigned threads = 1;
};

/// The result of packing.
struct Packed {
  data::PackedHeader header;
  std::vector<std::string> left_out;  // a message for each image that was left out, in order
};

/// Packs both sets into `path`, replacing a file that is there. Grey images keep their one channel. Errors name the
/// image, or give the system's message about the disk; then `path` is as it was before. `tick` is called as work
/// proceeds.
Expected<Packed> pack(const data::ImageSets& sets, const std::string& path, const PackOptions& options,
                      const base::Tick& tick = nullptr);

}  // namespace expc::dataset
