#include <fmt/format.h>
#include <llvm/Support/Endian.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/MemoryBuffer.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "runtime/base/failure.h"
#include "runtime/files/files.h"
#include "runtime/worker/data/memory_images.h"

namespace expc::data {
namespace {

using base::failure;

constexpr uint32_t kImagesMagic = 0x00000803;
constexpr uint32_t kLabelsMagic = 0x00000801;
constexpr uint8_t kDigits = 10;
constexpr uint32_t kLargestSide = 16384;  // pixels; more is a corrupt header, not an image

using Buffer = std::unique_ptr<llvm::MemoryBuffer>;

llvm::Expected<Buffer> readFile(const std::string& path) {
  auto buffer = files::map(path);
  if (buffer || llvm::sys::fs::exists(path) || !llvm::sys::fs::exists(path + ".gz")) return buffer;
  llvm::consumeError(buffer.takeError());
  return failure("{}: not found, but {}.gz is there; compressed files are not read: unpack it with `gunzip -k {}.gz`",
                 path, path, path);
}

uint32_t bigEndian(const Buffer& file, size_t offset) {
  return llvm::support::endian::read32be(file->getBufferStart() + offset);
}

/// Checks magic number and header size of one file. `what` is "images" or "labels".
llvm::Error checkHeader(const std::string& path, const Buffer& file, uint32_t magic, size_t header,
                        llvm::StringRef what) {
  const size_t size = file->getBufferSize();
  if (const auto form = files::formOf(file->getBuffer()); !form.empty())
    return failure("{}: no IDX file of {} but {}", path, what.str(), form);
  if (size < header)
    return failure("{}: {} bytes, expected at least the {} bytes of an IDX header", path, size, header);
  const uint32_t found = bigEndian(file, 0);
  if (found != magic)
    return failure("{}: magic number 0x{:08x}, expected 0x{:08x} (IDX {})", path, found, magic, what.str());
  return llvm::Error::success();
}

llvm::Error checkLength(const std::string& path, const Buffer& file, uint64_t header, uint64_t payload,
                        std::string shape) {
  const uint64_t found = file->getBufferSize();
  if (found == header + payload) return llvm::Error::success();
  return failure("{}: {} bytes, expected {} for the {} in its header: the file is {}", path, found, header + payload,
                 shape, found < header + payload ? "truncated" : "longer than it should be");
}

/// Pixels of a file, and how many rows and columns each image has.
struct IdxImages {
  std::vector<uint8_t> pixels;
  uint32_t count = 0, rows = 0, cols = 0;
};

llvm::Expected<IdxImages> readImages(const std::string& path) {
  auto file = readFile(path);
  if (!file) return file.takeError();
  if (auto error = checkHeader(path, *file, kImagesMagic, 16, "images")) return error;
  const uint32_t count = bigEndian(*file, 4), rows = bigEndian(*file, 8), cols = bigEndian(*file, 12);
  if (count == 0) return failure("{}: no images in it, expected at least one", path);
  if (rows == 0 || cols == 0 || rows > kLargestSide || cols > kLargestSide)
    return failure("{}: images of {} x {} pixels, expected 1 to {} each way", path, rows, cols, kLargestSide);
  // At most 2^32 x 2^28: fits 64 bits, so a huge count only gives a length that the file does not have.
  const uint64_t payload = uint64_t{count} * rows * cols;
  if (auto error = checkLength(path, *file, 16, payload, fmt::format("{} images of {} x {}", count, rows, cols)))
    return error;
  return IdxImages{{(*file)->getBufferStart() + 16, (*file)->getBufferEnd()}, count, rows, cols};
}

llvm::Expected<std::vector<uint8_t>> readLabels(const std::string& path) {
  auto file = readFile(path);
  if (!file) return file.takeError();
  if (auto error = checkHeader(path, *file, kLabelsMagic, 8, "labels")) return error;
  const uint32_t count = bigEndian(*file, 4);
  if (auto error = checkLength(path, *file, 8, count, fmt::format("{} labels", count))) return error;
  std::vector<uint8_t> labels((*file)->getBufferStart() + 8, (*file)->getBufferEnd());
  const auto bad = std::find_if(labels.begin(), labels.end(), [](uint8_t label) { return label >= kDigits; });
  if (bad != labels.end())
    return failure("{}: label {} at position {}, expected 0 to {}", path, *bad, bad - labels.begin(), kDigits - 1);
  return labels;
}

llvm::Expected<std::unique_ptr<Images>> readPair(const std::string& images_path, const std::string& labels_path) {
  auto images = readImages(images_path);
  if (!images) return images.takeError();
  auto labels = readLabels(labels_path);
  if (!labels) return labels.takeError();
  if (labels->size() != images->count)
    return failure("{}: {} labels, expected {} as there are images in {}", labels_path, labels->size(), images->count,
                   images_path);
  return std::make_unique<MemoryImages>(images_path, images->rows, images->cols, std::move(images->pixels),
                                        std::move(*labels), kDigits);
}

}  // namespace

llvm::Expected<ImageSets> readMnist(const std::string& folder) {
  if (!llvm::sys::fs::is_directory(folder))
    return failure("{}: no such folder; expected one with MNIST's IDX files (train-images-idx3-ubyte, …)", folder);
  auto train = readPair(folder + "/train-images-idx3-ubyte", folder + "/train-labels-idx1-ubyte");
  if (!train) return train.takeError();
  auto test = readPair(folder + "/t10k-images-idx3-ubyte", folder + "/t10k-labels-idx1-ubyte");
  if (!test) return test.takeError();
  const Shape wanted = *(*train)->shape(), found = *(*test)->shape();
  if (wanted.rows != found.rows || wanted.cols != found.cols)
    return failure("{}: test images of {} x {}, expected {} x {} as in {}", (*test)->origin(), found.rows, found.cols,
                   wanted.rows, wanted.cols, (*train)->origin());
  return ImageSets{std::move(*train), std::move(*test)};
}

}  // namespace expc::data
