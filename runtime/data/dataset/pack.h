#pragma once

// Images of any kind into a packed file.

#include <llvm/Support/Error.h>

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/parallel.h"
#include "runtime/data/images/images.h"
#include "runtime/data/images/packed.h"

namespace expc::dataset {

struct PackOptions {
  int64_t size = 0;           // scaled to size x size as PIL scales; 0: as they are, which must be one size
  bool skip_corrupt = false;  // leave out images that cannot be decoded, instead of failing
  unsigned threads = 1;
};

struct Packed {
  data::PackedHeader header;
  std::vector<std::string> left_out;  // why, naming the file; in order
};

/// Writes both sets to `path`, over a file that may be there. Grey images keep their one channel. The error names the
/// image, or says what the system says of the disk; nothing is left at `path` then but what was there.
llvm::Expected<Packed> pack(const data::ImageSets& sets, const std::string& path, const PackOptions& options,
                            const base::Tick& tick = nullptr);

}  // namespace expc::dataset
