#pragma once

// Opens the data of a study: from what is written for `data` to a training and a test set. Files and folders come from
// users, so every error names the file, what was expected and what was found.

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/base/llvm.h"
#include "runtime/data/images/images.h"
#include "runtime/data/images/preparation.h"

namespace expc::data {

/// The source of images: IDX files of MNIST's layout, class folders of JPEG and PNG files, a packed file, or synthetic.
struct Source {
  enum class Kind { Mnist, Folder, Packed, Synthetic } kind = Kind::Mnist;
  std::string path;   // all kinds but Synthetic
  int64_t count = 0;  // for Synthetic, the number of training images
};

/// Opens class folders as torchvision's ImageFolder lists them: path/CLASS/…/*.jpg, .jpeg or .png, in any case. Classes
/// are the folders in `path`, sorted by name and numbered from 0; the files of a class are sorted by folder, then by
/// name. Other files are ignored, except images in formats that torchvision would read and this does not. No image is
/// read yet. It is an error if there is no class, a class without an image, or a folder that cannot be read.
Expected<std::unique_ptr<Images>> openClasses(const std::string& path);
/// Opens path/train and path/test, which must have the same classes.
Expected<ImageSets> openFolder(const std::string& path);

/// Reads the four files of MNIST's layout (http://yann.lecun.com/exdb/mnist): train-images-idx3-ubyte,
/// train-labels-idx1-ubyte, t10k-images-idx3-ubyte, t10k-labels-idx1-ubyte. Each has a magic number (0x00000803 or
/// 0x00000801) and a count, for images also rows and columns, all big-endian, then bytes. Labels must be below ten,
/// both counts equal and above zero, and the length exact. Compressed files (.gz) are not read; the error says how to
/// unpack them.
Expected<ImageSets> readMnist(const std::string& folder);

/// Deterministic images of 28 x 28 pixels in ten classes: `count` for training, and a fifth of it (at least ten) for
/// testing. The same arguments give the same bytes on every machine. It is an error if `count` is below 1 or above 10
/// million.
Expected<ImageSets> synthetic(int64_t count, uint32_t seed = 0);

/// Opens both sets of a source.
Expected<ImageSets> open(const Source& source);

/// Decodes and scales a whole set into memory, for trainings that read their data before they begin. The images have
/// `preparation`'s rows, columns, channels and layout, in fp32 (4 bytes a value) and not normalised, and can only be
/// used for batches of that shape and layout. Works on all cores. The error is that of the first image that cannot be
/// read.
Expected<std::unique_ptr<Images>> preload(std::unique_ptr<Images> images, Preparation preparation);

}  // namespace expc::data
