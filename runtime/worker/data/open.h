#pragma once

// From what a study writes for `data` to its two sets of images.

#include <llvm/Support/Error.h>

#include <cstdint>
#include <memory>
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

/// Class folders of JPEG and PNG files, listed as torchvision's ImageFolder lists them: path/CLASS/…/*.jpg, .jpeg or
/// .png (in any case). Classes are the folders in `path`, sorted by name, from 0; the files of a class are sorted by
/// folder, then by name. Other files are ignored, except images that nobody could read here. Reads no image. An error
/// when there is no class, a class without an image, or a folder cannot be read.
llvm::Expected<std::unique_ptr<Images>> openClasses(const std::string& path);
/// path/train and path/test, which must have the same classes.
llvm::Expected<ImageSets> openFolder(const std::string& path);

/// Opens both sets. The error names the file or folder, what was expected and what was found.
llvm::Expected<ImageSets> open(const Place& place);

}  // namespace expc::data
