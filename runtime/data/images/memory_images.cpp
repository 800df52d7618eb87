// Images that lie in memory: MNIST's from IDX files, synthetic ones, and any set decoded in advance as tensors
// (preload). The first two are grey and of one size.
//
// IDX files are untrusted: header, counts and length are checked against each other before any payload is copied.

#include <llvm/Support/Endian.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/MemoryBuffer.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/failure.h"
#include "runtime/base/files/files.h"
#include "runtime/base/format.h"
#include "runtime/base/llvm.h"
#include "runtime/base/parallel.h"
#include "runtime/data/images/decode.h"
#include "runtime/data/images/open.h"
#include "runtime/data/images/preparer.h"

namespace expc::data {
namespace {

/// Grey images of one size.
class MemoryImages : public Images {
 public:
  /// `pixels`: rows x cols bytes for each image, row-major, from 0 (black) to 255 (white); `labels`: one for each
  /// image, below `classes`.
  MemoryImages(std::string origin, int64_t rows, int64_t cols, std::vector<uint8_t> pixels, std::vector<uint8_t> labels,
               int64_t classes)
      : origin_(std::move(origin)),
        rows_(rows),
        cols_(cols),
        classes_(classes),
        pixels_(std::move(pixels)),
        labels_(std::move(labels)) {}

  int64_t count() const override { return std::ssize(labels_); }
  int64_t classes() const override { return classes_; }
  const std::string& origin() const override { return origin_; }
  std::optional<Shape> shape() const override { return Shape{rows_, cols_, 1}; }
  int64_t label(int64_t index) const override { return labels_[index]; }
  Expected<Pixels> read(int64_t index, std::vector<uint8_t>&) const override {
    return Pixels{pixels_.data() + index * rows_ * cols_, rows_, cols_, 1};
  }

 private:
  std::string origin_;
  int64_t rows_, cols_, classes_;
  std::vector<uint8_t> pixels_, labels_;
};

// Magic numbers of IDX files: type 8 (unsigned byte) with 3 dimensions or 1.
constexpr uint32_t kImagesMagic = 0x00000803;
constexpr uint32_t kLabelsMagic = 0x00000801;
constexpr uint8_t kDigits = 10;

using Buffer = std::unique_ptr<llvm::MemoryBuffer>;

/// Maps a file; if only a compressed one is there, the error says how to unpack it.
Expected<Buffer> readFile(const std::string& path) {
  auto buffer = files::map(path);
  if (buffer || llvm::sys::fs::exists(path) || !llvm::sys::fs::exists(path + ".gz")) return buffer;
  consumeError(buffer.takeError());
  return failure("{}: not found, but {}.gz exists; unpack it with `gunzip -k {}.gz`", path, path, path);
}

uint32_t bigEndian(const Buffer& file, size_t offset) {
  return llvm::support::endian::read32be(file->getBufferStart() + offset);
}

/// Checks the magic number and the size of the header. `what` is "images" or "labels".
Error checkHeader(const std::string& path, const Buffer& file, uint32_t magic, size_t header, StringRef what) {
  const size_t size = file->getBufferSize();
  if (const auto form = files::formOf(file->getBuffer()); !form.empty())
    return failure("{}: not an IDX file of {} but {}", path, what, form);
  if (size < header)
    return failure("{}: {} bytes, expected at least the {} bytes of an IDX header", path, size, header);
  const uint32_t found = bigEndian(file, 0);
  if (found != magic) return failure("{}: magic number 0x{:08x}, expected 0x{:08x} (IDX {})", path, found, magic, what);
  return Error::success();
}

/// Checks that the file has exactly the bytes that its header promises. `shape` describes them.
Error checkLength(const std::string& path, const Buffer& file, uint64_t header, uint64_t payload, std::string shape) {
  const uint64_t found = file->getBufferSize();
  if (found == header + payload) return Error::success();
  return failure("{}: {} bytes, expected {} for the {} in its header: the file is {}", path, found, header + payload,
                 shape, found < header + payload ? "truncated" : "longer than it should be");
}

/// The content of a file of images.
struct IdxImages {
  std::vector<uint8_t> pixels;
  uint32_t count = 0, rows = 0, cols = 0;
};

/// Reads a file of images.
Expected<IdxImages> readImages(const std::string& path) {
  auto file = TRY(readFile(path));
  TRY(checkHeader(path, file, kImagesMagic, 16, "images"));
  const uint32_t count = bigEndian(file, 4), rows = bigEndian(file, 8), cols = bigEndian(file, 12);
  if (count == 0) return failure("{}: no images in it, expected at least one", path);
  if (rows == 0 || cols == 0 || rows > kLargestSide || cols > kLargestSide)
    return failure("{}: images of {} x {} pixels, expected 1 to {} each way", path, rows, cols, kLargestSide);
  // At most 2^32 x 2^28: fits 64 bits, so a huge count only gives a length that the file does not have.
  const uint64_t payload = uint64_t{count} * rows * cols;
  TRY(checkLength(path, file, 16, payload, fmt::format("{} images of {} x {}", count, rows, cols)));
  return IdxImages{{file->getBufferStart() + 16, file->getBufferEnd()}, count, rows, cols};
}

/// Reads a file of labels.
Expected<std::vector<uint8_t>> readLabels(const std::string& path) {
  auto file = TRY(readFile(path));
  TRY(checkHeader(path, file, kLabelsMagic, 8, "labels"));
  const uint32_t count = bigEndian(file, 4);
  TRY(checkLength(path, file, 8, count, fmt::format("{} labels", count)));
  std::vector<uint8_t> labels(file->getBufferStart() + 8, file->getBufferEnd());
  const auto bad = std::ranges::find_if(labels, [](uint8_t label) { return label >= kDigits; });
  if (bad != labels.end())
    return failure("{}: label {} at position {}, expected 0 to {}", path, *bad, bad - labels.begin(), kDigits - 1);
  return labels;
}

/// One set: a file of images with its file of labels.
Expected<std::unique_ptr<Images>> readPair(const std::string& images_path, const std::string& labels_path) {
  auto images = TRY(readImages(images_path));
  auto labels = TRY(readLabels(labels_path));
  if (labels.size() != images.count)
    return failure("{}: {} labels, expected {} as there are images in {}", labels_path, labels.size(), images.count,
                   images_path);
  return std::make_unique<MemoryImages>(images_path, images.rows, images.cols, std::move(images.pixels),
                                        std::move(labels), kDigits);
}

// Synthetic images. Classes differ in the places of three smooth spots; each image shifts them by up to two pixels and
// adds noise.
constexpr int kSide = 28;
constexpr int kClasses = 10;
constexpr int kSpots = 3;
constexpr int kRadius = 5;

struct Spot {
  int row, col;
};

/// A random number below `bound`. Whole-number arithmetic on raw words of the generator only, since distributions
/// differ between standard libraries and the bytes must be the same everywhere.
int below(std::mt19937& random, int bound) { return int(random() % uint32_t(bound)); }

using Pattern = std::array<Spot, kSpots>;

/// The spots of each class.
std::array<Pattern, kClasses> patterns() {
  std::mt19937 random(20051);  // fixed, so that a class looks the same for every seed
  std::array<Pattern, kClasses> result;
  for (auto& pattern : result)
    for (auto& spot : pattern) spot = {4 + below(random, kSide - 8), 4 + below(random, kSide - 8)};
  return result;
}

/// Paints one image: noise below 64, and spots that fall off with the square of the distance.
void paint(const Pattern& pattern, std::mt19937& random, uint8_t* image) {
  const int shift_row = below(random, 5) - 2, shift_col = below(random, 5) - 2;
  for (int row = 0; row < kSide; ++row) {
    for (int col = 0; col < kSide; ++col) {
      int value = below(random, 64);
      for (const Spot& spot : pattern) {
        const int dr = row - spot.row - shift_row, dc = col - spot.col - shift_col;
        value += std::max(0, 190 * (kRadius * kRadius - dr * dr - dc * dc) / (kRadius * kRadius));
      }
      image[row * kSide + col] = uint8_t(std::min(value, 255));
    }
  }
}

/// A set of `count` images, with labels 0, 1, …, 9, 0, …
std::unique_ptr<Images> make(int64_t count, uint32_t seed, const char* name) {
  std::vector<uint8_t> pixels(size_t(count) * kSide * kSide), labels(static_cast<size_t>(count));
  const auto shapes = patterns();
  std::mt19937 random(seed);
  for (int64_t i = 0; i < count; ++i) {
    labels[i] = uint8_t(i % kClasses);
    paint(shapes[i % kClasses], random, pixels.data() + i * kSide * kSide);
  }
  return std::make_unique<MemoryImages>(name, kSide, kSide, std::move(pixels), std::move(labels), kClasses);
}

/// Images of another set, prepared in advance. Their memory is filled by preload().
class Preloaded : public Images {
 public:
  Preloaded(std::unique_ptr<Images> source, const Preparation& preparation)
      : source_(std::move(source)),
        shape_{preparation.rows, preparation.cols, preparation.channels},
        values_of_one_(preparation.rows * preparation.cols * preparation.channels),
        values_(new float[source_->count() * values_of_one_]) {}

  int64_t count() const override { return source_->count(); }
  int64_t classes() const override { return source_->classes(); }
  const std::string& origin() const override { return source_->origin(); }
  std::optional<Shape> shape() const override { return shape_; }
  int64_t label(int64_t index) const override { return source_->label(index); }
  std::string className(int64_t label) const override { return source_->className(label); }
  std::string file(int64_t index) const override { return source_->file(index); }
  Expected<Pixels> read(int64_t index, std::vector<uint8_t>&) const override {
    return Pixels{nullptr, shape_.rows, shape_.cols, shape_.channels, place(index)};
  }

  float* place(int64_t index) const { return values_.get() + index * values_of_one_; }

 private:
  std::unique_ptr<Images> source_;
  Shape shape_;
  int64_t values_of_one_;
  std::unique_ptr<float[]> values_;  // deliberately not initialised: the threads that fill it place its pages
};

}  // namespace

Expected<ImageSets> readMnist(const std::string& folder) {
  if (!llvm::sys::fs::is_directory(folder))
    return failure("{}: no such folder; expected one with MNIST's IDX files (train-images-idx3-ubyte, …)", folder);
  auto train = TRY(readPair(folder + "/train-images-idx3-ubyte", folder + "/train-labels-idx1-ubyte"));
  auto test = TRY(readPair(folder + "/t10k-images-idx3-ubyte", folder + "/t10k-labels-idx1-ubyte"));
  // Models are made for one size of images, so both sets must agree.
  const Shape wanted = *train->shape(), found = *test->shape();
  if (wanted.rows != found.rows || wanted.cols != found.cols)
    return failure("{}: test images of {} x {}, expected {} x {} as in {}", test->origin(), found.rows, found.cols,
                   wanted.rows, wanted.cols, train->origin());
  return ImageSets{std::move(train), std::move(test)};
}

Expected<ImageSets> synthetic(int64_t count, uint32_t seed) {
  constexpr int64_t kMost = 10'000'000;
  if (count < 1 || count > kMost) return failure("synthetic({}): expected 1 to {} images", count, kMost);
  return ImageSets{make(count, seed, "synthetic, training"),
                   make(std::max<int64_t>(kClasses, count / 5), seed ^ 0x9e3779b9u, "synthetic, test")};
}

Expected<std::unique_ptr<Images>> preload(std::unique_ptr<Images> images, Preparation preparation) {
  preparation.element = Element::Float32;
  // Values stay 0 to 255 in fp32: every type of batch can be made from these, with normalisation, without loss.
  preparation.normalise = false;
  const Preparer preparer(preparation);
  const Images& source = *images;
  auto loaded = std::make_unique<Preloaded>(std::move(images), preparation);
  // Each thread writes its own images straight to their places.
  const auto work = [&](int64_t item) {
    thread_local std::vector<uint8_t> decoded;
    return preparer.fill(source, item, loaded->place(item), decoded);
  };
  TRY(base::forEach(source.count(), base::allCores(), work));
  return loaded;
}

}  // namespace expc::data
