#pragma once

// From what a study writes for `data` to its two sets of images.

#include <llvm/Support/Error.h>

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/data/images/images.h"
#include "runtime/data/images/preparation.h"

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

/// Reads the four files of MNIST's folder layout (http://yann.lecun.com/exdb/mnist): train-images-idx3-ubyte,
/// train-labels-idx1-ubyte, t10k-images-idx3-ubyte, t10k-labels-idx1-ubyte. Each has a magic number (0x00000803 or
/// 0x00000801), a count, of images rows and cols, all big-endian, then bytes. Errors name the file, what was expected
/// and what was found; labels are below ten, both counts equal and above zero, and no byte is missing or left over.
/// Compressed files (.gz) are not read; the error says how to unpack them.
llvm::Expected<ImageSets> readMnist(const std::string& folder);

/// Deterministic images of 28 x 28 in ten classes, `count` for training and a fifth of it (at least ten) for testing:
/// three smooth spots whose places belong to the class, shifted a little, with noise on top. Labels go round in order.
/// The same arguments give the same bytes on every machine. An error when count is below 1 or above 10 million.
llvm::Expected<ImageSets> synthetic(int64_t count, uint32_t seed = 0);

/// Opens both sets. The error names the file or folder, what was expected and what was found.
llvm::Expected<ImageSets> open(const Place& place);

/// What a training has that reads its whole data set into memory before it begins: the images of a set, decoded and
/// scaled to `preparation`'s rows, columns, channels and layout, in fp32 and not normalised: four bytes a value, for
/// batches of that shape and layout. The error is of the first that cannot be read.
llvm::Expected<std::unique_ptr<Images>> preload(std::unique_ptr<Images> images, Preparation preparation);

}  // namespace expc::data
