// Reads packed files (packed.h has their format; runtime/data/dataset writes them). Everything that a number in the
// file leads to is checked before it is used, since the file may be damaged or made by someone else. The sums of pixels
// are checked on first use: checking all at the start would read the whole file, and a study that stops early never
// needs most of it.

#include "runtime/data/images/packed.h"

#include <llvm/Support/xxhash.h>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>

#include "runtime/base/failure.h"
#include "runtime/base/files/files.h"
#include "runtime/base/format.h"
#include "runtime/base/llvm.h"
#include "runtime/data/images/decode.h"
#include "runtime/data/images/slots.h"

namespace expc::data {
namespace {

/// Whether the counts and sizes of a header are within the limits, so that arithmetic with them cannot overflow.
bool sensible(const PackedHeader& header) {
  const auto side = [](uint32_t pixels) { return pixels >= 1 && pixels <= kLargestSide; };
  return side(header.rows) && side(header.cols) && (header.channels == 1 || header.channels == 3) &&
         header.classes >= 1 && header.classes <= kMostClasses && header.train >= 1 && header.train < kMostPacked &&
         header.test >= 1 && header.test < kMostPacked && header.name_bytes <= kMostNameBytes;
}

/// The names of classes; nothing if lengths and bytes do not fit together.
std::optional<std::vector<std::string>> namesIn(ArrayRef<uint8_t> bytes, uint32_t classes) {
  std::vector<std::string> names;
  for (uint32_t i = 0; i < classes; ++i) {
    uint32_t length = 0;
    if (bytes.size() < sizeof(length)) return std::nullopt;
    std::memcpy(&length, bytes.data(), sizeof(length));
    bytes = bytes.drop_front(sizeof(length));
    if (length > bytes.size()) return std::nullopt;
    names.emplace_back(reinterpret_cast<const char*>(bytes.data()), length);
    bytes = bytes.drop_front(length);
  }
  if (!bytes.empty()) return std::nullopt;
  return names;
}

/// The training or the test images of a file.
class PackedImages : public Images {
 public:
  PackedImages(std::shared_ptr<const PackedFile> file, bool test)
      : file_(std::move(file)), header_(file_->header()), first_(test ? header_.train : 0), test_(test) {}

  int64_t count() const override { return int64_t(test_ ? header_.test : header_.train); }
  int64_t classes() const override { return header_.classes; }
  const std::string& origin() const override { return file_->path(); }
  std::optional<Shape> shape() const override { return Shape{header_.rows, header_.cols, header_.channels}; }
  int64_t label(int64_t index) const override { return file_->label(first_ + uint64_t(index)); }
  std::string className(int64_t label) const override { return file_->classNames()[label]; }
  Expected<Pixels> read(int64_t index, std::vector<uint8_t>&) const override {
    const uint64_t image = first_ + uint64_t(index);
    TRY(file_->check(image));
    return Pixels{file_->pixels(image), header_.rows, header_.cols, header_.channels};
  }

 private:
  const std::shared_ptr<const PackedFile> file_;
  const PackedHeader& header_;
  const uint64_t first_;  // number in the file of the set's first image
  const bool test_;
};

}  // namespace

uint64_t packedPixelsAt(const PackedHeader& header) {
  const uint64_t end =
      sizeof(PackedHeader) + header.images() * (sizeof(uint64_t) + sizeof(uint32_t)) + header.name_bytes;
  return (end + kPackedAlignment - 1) / kPackedAlignment * kPackedAlignment;
}

uint64_t packedSum(ArrayRef<uint8_t> bytes) { return llvm::xxh3_64bits(bytes); }

uint64_t headerSum(const PackedHeader& header) {
  return packedSum({reinterpret_cast<const uint8_t*>(&header), offsetof(PackedHeader, header_sum)});
}

Error PackedFile::readHeader() {
  const uint64_t size = file_->getBufferSize();
  if (size < sizeof(PackedHeader) || std::memcmp(bytes(), kPackedMagic, sizeof(kPackedMagic)) != 0)
    return failure("{}: not a packed file of images ({} bytes); `expc data pack` makes one", path_, size);
  std::memcpy(&header_, bytes(), sizeof(header_));
  if (header_.version != kPackedVersion)
    return failure("{}: packed in version {} of the format, this build reads {}; pack it again", path_, header_.version,
                   kPackedVersion);
  // The order of checks decides the message: first what the file is, then damage, then contradictions that only a
  // faulty writer can make, then truncation.
  if (header_.header_sum != headerSum(header_))
    return failure("{}: its header is damaged (checksum {:016x}, expected {:016x}); pack it again", path_,
                   headerSum(header_), header_.header_sum);
  // The sum is right, so the numbers are those that were written. They are still not trusted.
  if (!sensible(header_) || header_.pixels_at != packedPixelsAt(header_) ||
      header_.file_bytes != header_.pixels_at + header_.images() * header_.imageBytes())
    return failure("{}: its header is inconsistent: {} + {} images of {} x {} x {} in {} bytes; pack it again", path_,
                   header_.train, header_.test, header_.rows, header_.cols, header_.channels, header_.file_bytes);
  if (size != header_.file_bytes)
    return failure("{}: {} bytes, expected {}: it was truncated or changed; pack it again", path_, size,
                   header_.file_bytes);
  return Error::success();
}

Error PackedFile::readIndex() {
  const uint8_t* begin = bytes() + sizeof(PackedHeader);
  const uint64_t images = header_.images();
  const uint64_t sum = packedSum({begin, bytes() + header_.pixels_at});
  if (sum != header_.index_sum)
    return failure("{}: its labels are damaged (checksum {:016x}, expected {:016x}); pack it again", path_, sum,
                   header_.index_sum);
  // Both are aligned: the header has 96 bytes, a multiple of 8, and the sums have 8 each.
  sums_ = reinterpret_cast<const uint64_t*>(begin);
  labels_ = reinterpret_cast<const uint32_t*>(begin + images * sizeof(uint64_t));
  const uint8_t* names = begin + images * (sizeof(uint64_t) + sizeof(uint32_t));
  auto read = namesIn({names, names + header_.name_bytes}, header_.classes);
  if (!read) return failure("{}: the names of its classes cannot be read; pack it again", path_);
  names_ = std::move(*read);
  for (uint64_t i = 0; i < images; ++i)
    if (labels_[i] >= header_.classes)
      return failure("{}: {} has label {}, expected 0 to {}; pack it again", path_, describe(i), labels_[i],
                     header_.classes - 1);
  return Error::success();
}

Expected<std::shared_ptr<const PackedFile>> PackedFile::open(const std::string& path) {
  auto mapped = files::map(path);
  if (!mapped) {
    const std::error_code code = llvm::errorToErrorCode(mapped.takeError());
    if (code == std::errc::no_such_file_or_directory)
      return failure("{}: no such file; `expc data pack` makes packed files", path);
    if (code == std::errc::is_a_directory || code == std::errc::invalid_argument)
      return failure("{}: not a file, expected a packed one (`expc data pack` makes it)", path);
    return files::systemError(path, code.value());
  }
  std::shared_ptr<PackedFile> file(new PackedFile);
  file->path_ = path;
  file->file_ = std::move(*mapped);
  TRY(file->readHeader());
  TRY(file->readIndex());
  static_assert(sizeof(std::atomic<uint8_t>) == 1 && std::atomic<uint8_t>::is_always_lock_free);
  // Zeroed by the system. Shared, so that an image which one worker process has checked is not checked by the others.
  file->checked_ = sharedMemory()(file->header_.images());
  if (!file->checked_) return failure("{}: no memory to note which images were checked", path);
  return std::shared_ptr<const PackedFile>(std::move(file));
}

std::string PackedFile::describe(uint64_t image) const {
  return image < header_.train ? fmt::format("training image {}", image)
                               : fmt::format("test image {}", image - header_.train);
}

Error PackedFile::check(uint64_t image) const {
  // Relaxed is enough: two threads at the same image only compute the same sum twice.
  std::atomic<uint8_t>& checked = static_cast<std::atomic<uint8_t>*>(checked_.get())[image];
  if (checked.load(std::memory_order_relaxed) != 0) return Error::success();
  const uint64_t sum = packedSum({pixels(image), header_.imageBytes()});
  if (sum != sums_[image])
    return llvm::make_error<CorruptImage>(
        fmt::format("{}: {} (class {}) is damaged: checksum {:016x}, expected {:016x}; pack it again", path_,
                    describe(image), names_[labels_[image]], sum, sums_[image]));
  checked.store(1, std::memory_order_relaxed);
  return Error::success();
}

Expected<ImageSets> openPacked(const std::string& path) {
  auto file = TRY(PackedFile::open(path));
  return ImageSets{std::make_unique<PackedImages>(file, false), std::make_unique<PackedImages>(file, true)};
}

}  // namespace expc::data
