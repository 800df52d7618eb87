#pragma once

// Sets of images, whatever holds them: memory, a folder of JPEG and PNG files, a packed file. No torch here.

#include <llvm/Support/Error.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace expc::data {

/// One decoded image: rows x cols x channels bytes, channels last; 1 channel is grey, 3 are red, green, blue. Of one
/// that was prepared before (preload in open.h) `tensor` has the values, from 0 to 255, in the layout of the batches.
struct Pixels {
  const uint8_t* data = nullptr;
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t channels = 0;
  const float* tensor = nullptr;
};

/// Height, width and channels that all images of a set share.
struct Shape {
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t channels = 0;
};

/// An image whose bytes are at fault, not the machine: what `on_corrupt = skip` leaves out. The message names the file.
class CorruptImage : public llvm::ErrorInfo<CorruptImage> {
 public:
  static inline char ID = 0;
  explicit CorruptImage(std::string message) : message_(std::move(message)) {}
  void log(llvm::raw_ostream& out) const override { out << message_; }
  std::error_code convertToErrorCode() const override { return std::make_error_code(std::errc::illegal_byte_sequence); }

 private:
  std::string message_;
};

/// Labelled images by index. All members may be called from several threads at once.
class Images {
 public:
  virtual ~Images() = default;
  virtual int64_t count() const = 0;
  /// Labels are below it.
  virtual int64_t classes() const = 0;
  /// Where the set came from, for messages.
  virtual const std::string& origin() const = 0;
  /// Nothing where images differ in shape, or where one would have to be decoded to know.
  virtual std::optional<Shape> shape() const = 0;
  virtual int64_t label(int64_t index) const = 0;
  /// What a label stands for; its number where classes have no names.
  virtual std::string className(int64_t label) const { return std::to_string(label); }
  /// The decoded image. It lies in the set's own memory or in `scratch`, which the caller keeps from call to call, and
  /// is good until the next call with the same scratch. The error names the file and what is wrong with it.
  virtual llvm::Expected<Pixels> read(int64_t index, std::vector<uint8_t>& scratch) const = 0;
  /// The same, but decoded into `out` where the image has the `wanted` shape: then the answer's data is `out`.
  virtual llvm::Expected<Pixels> readInto(int64_t index, const Shape& /*wanted*/, uint8_t* /*out*/,
                                          std::vector<uint8_t>& scratch) const {
    return read(index, scratch);
  }
  /// The file of an encoded image, for a loader that decodes itself; empty where images are not files.
  virtual std::string file(int64_t /*index*/) const { return {}; }
  /// For messages: the file, or "ORIGIN: image 7".
  std::string nameOf(int64_t index) const {
    const std::string name = file(index);
    return name.empty() ? origin() + ": image " + std::to_string(index) : name;
  }
};

/// A training and a test set.
struct ImageSets {
  std::unique_ptr<Images> train;
  std::unique_ptr<Images> test;
};

}  // namespace expc::data
