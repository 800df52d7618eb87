#pragma once

// From what a study writes for `data` to its two sets of images.

#include <llvm/Support/Error.h>

#include <cstdint>
#include <string>

#include "runtime/worker/data/images.h"

namespace expc::data {

/// Where images come from: IDX files of MNIST's layout, folders of JPEG and PNG files by class, a packed file, or
/// nowhere.
struct Place {
  enum class Kind { Mnist, Folder, Packed, Synthetic } kind = Kind::Mnist;
  std::string path;   // all but Synthetic
  int64_t count = 0;  // Synthetic: training images
};

/// Opens both sets. The error names the file or folder, what was expected and what was found.
llvm::Expected<ImageSets> open(const Place& place);

}  // namespace expc::data
