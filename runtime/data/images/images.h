#pragma once

// Sets of labelled images, whatever holds them: memory, a folder of JPEG and PNG files, a packed file. Loaders,
// evaluation and counting all work on this interface; open.h makes the sets. No torch here.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "runtime/base/llvm.h"

namespace expc::data {

/// One decoded image: rows x cols x channels bytes, channels last; 1 channel is grey, 3 are red, green, blue. The
/// memory belongs to whoever gave it. For an image that was prepared in advance (preload in open.h), `data` is null and
/// `tensor` has the values, from 0 to 255, in the layout of the batches.
struct Pixels {
  const uint8_t* data = nullptr;
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t channels = 0;
  const float* tensor = nullptr;
};

/// The height, width and channels of an image.
struct Shape {
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t channels = 0;
};

/// An error in an image's bytes, as opposed to one of the machine: `on_corrupt = skip` passes over these only. The
/// message names the file.
class CorruptImage : public llvm::ErrorInfo<CorruptImage, llvm::StringError> {
 public:
  static inline char ID = 0;
  explicit CorruptImage(const std::string& message)
      : ErrorInfo(message, std::make_error_code(std::errc::illegal_byte_sequence)) {}
};

/// Labelled images by index. All members may be called from several threads at once.
class Images {
 public:
  virtual ~Images() = default;
  /// The number of images.
  virtual int64_t count() const = 0;
  /// The number of classes; labels are below it.
  virtual int64_t classes() const = 0;
  /// The file or folder of the set, for messages.
  virtual const std::string& origin() const = 0;
  /// The shape of all images; nothing if they differ, or if one would have to be decoded to know.
  virtual std::optional<Shape> shape() const = 0;
  /// The label of an image, known without reading it.
  virtual int64_t label(int64_t index) const = 0;
  /// The name of the class with this label; the number itself if classes have no names.
  virtual std::string className(int64_t label) const { return std::to_string(label); }
  /// Decodes an image. The result lies in the set's own memory or in `scratch`, which the caller keeps from call to
  /// call, and is valid until the next call with the same scratch. The error names the file and the fault.
  virtual Expected<Pixels> read(int64_t index, std::vector<uint8_t>& scratch) const = 0;
  /// Decodes an image straight into `out` if it has the `wanted` shape and the set can do so: then the result's data is
  /// `out`. Otherwise as read().
  virtual Expected<Pixels> readInto(int64_t index, const Shape& /*wanted*/, uint8_t* /*out*/,
                                    std::vector<uint8_t>& scratch) const {
    return read(index, scratch);
  }
  /// The encoded file of an image, for a loader that decodes by itself; "" if images are not files.
  virtual std::string file(int64_t /*index*/) const { return {}; }
  /// An image's name in messages: its file, or "ORIGIN: image 7".
  std::string nameOf(int64_t index) const {
    const std::string name = file(index);
    return name.empty() ? origin() + ": image " + std::to_string(index) : name;
  }
};

/// A training and a test set.
struct ImageSets {
  std::unique_ptr<Images> train;
  std::unique_ptr<Images> test;

  int64_t count() const { return train->count() + test->count(); }
  /// The set and the index in it of an image that is numbered through both sets, training images first.
  std::pair<const Images*, int64_t> at(int64_t item) const {
    const int64_t first = train->count();
    return item < first ? std::pair(train.get(), item) : std::pair(test.get(), item - first);
  }
};

}  // namespace expc::data
