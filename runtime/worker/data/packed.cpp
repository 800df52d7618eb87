#include "runtime/worker/data/packed.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <llvm/Support/Errno.h>
#include <llvm/Support/xxhash.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>
#include <utility>

#include "runtime/base/descriptor.h"
#include "runtime/base/failure.h"
#include "runtime/worker/data/decode.h"

namespace expc::data {
namespace {

using base::failure;

bool sensible(const PackedHeader& header) {
  const auto side = [](uint32_t pixels) { return pixels >= 1 && pixels <= kLargestSide; };
  return side(header.rows) && side(header.cols) && (header.channels == 1 || header.channels == 3) &&
         header.classes >= 1 && header.classes <= kMostClasses && header.train >= 1 && header.train < kMostPacked &&
         header.test >= 1 && header.test < kMostPacked && header.name_bytes <= kMostNameBytes;
}

/// The names, or nothing when lengths and bytes do not fit.
std::optional<std::vector<std::string>> namesIn(llvm::ArrayRef<uint8_t> bytes, uint32_t classes) {
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

}  // namespace

uint64_t packedPixelsAt(const PackedHeader& header) {
  const uint64_t end =
      sizeof(PackedHeader) + header.images() * (sizeof(uint64_t) + sizeof(uint32_t)) + header.name_bytes;
  return (end + kPackedAlignment - 1) / kPackedAlignment * kPackedAlignment;
}

uint64_t packedSum(llvm::ArrayRef<uint8_t> bytes) { return llvm::xxh3_64bits(bytes); }

uint64_t headerSum(const PackedHeader& header) {
  return packedSum({reinterpret_cast<const uint8_t*>(&header), offsetof(PackedHeader, header_sum)});
}

PackedFile::~PackedFile() {
  if (bytes_ != nullptr) ::munmap(const_cast<uint8_t*>(bytes_), size_);
  if (checked_ != nullptr) ::munmap(static_cast<void*>(checked_), header_.images());
}

llvm::Error PackedFile::map(const std::string& path) {
  path_ = path;
  const base::Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (file < 0)
    return failure("{}: {}; `expc data pack` makes packed files", path,
                   errno == ENOENT ? "no such file" : llvm::sys::StrError(errno));
  struct stat status{};
  int code = ::fstat(file, &status) == 0 ? 0 : errno;
  const bool regular = code == 0 && S_ISREG(status.st_mode);
  size_ = regular ? static_cast<uint64_t>(status.st_size) : 0;
  if (size_ >= sizeof(PackedHeader)) {
    void* memory = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED)
      code = errno;
    else
      bytes_ = static_cast<const uint8_t*>(memory);
  }
  if (code != 0) return failure("{}: {}", path, llvm::sys::StrError(code));
  if (!regular) return failure("{}: not a file, expected a packed one (`expc data pack` makes it)", path);
  return llvm::Error::success();
}

llvm::Error PackedFile::readHeader() {
  const size_t known = std::min<uint64_t>(size_, sizeof(kPackedMagic));
  if (size_ < sizeof(PackedHeader) || std::memcmp(bytes_, kPackedMagic, known) != 0)
    return failure("{}: not a packed file of images ({} bytes); `expc data pack` makes one", path_, size_);
  std::memcpy(&header_, bytes_, sizeof(header_));
  if (header_.version != kPackedVersion)
    return failure("{}: packed in version {} of the format, this build reads {}; pack it again", path_, header_.version,
                   kPackedVersion);
  if (header_.header_sum != headerSum(header_))
    return failure("{}: its header is damaged (checksum {:016x}, expected {:016x}); pack it again", path_,
                   headerSum(header_), header_.header_sum);
  if (!sensible(header_) || header_.pixels_at != packedPixelsAt(header_) ||
      header_.file_bytes != header_.pixels_at + header_.images() * header_.imageBytes())
    return failure("{}: its header makes no sense: {} + {} images of {} x {} x {} in {} bytes; pack it again", path_,
                   header_.train, header_.test, header_.rows, header_.cols, header_.channels, header_.file_bytes);
  if (size_ != header_.file_bytes)
    return failure("{}: {} bytes, expected {}: it was cut off or written to; pack it again", path_, size_,
                   header_.file_bytes);
  return llvm::Error::success();
}

llvm::Error PackedFile::readIndex() {
  const uint8_t* begin = bytes_ + sizeof(PackedHeader);
  const uint64_t images = header_.images();
  const uint64_t sum = packedSum({begin, bytes_ + header_.pixels_at});
  if (sum != header_.index_sum)
    return failure("{}: its labels are damaged (checksum {:016x}, expected {:016x}); pack it again", path_, sum,
                   header_.index_sum);
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
  return llvm::Error::success();
}

llvm::Expected<std::shared_ptr<const PackedFile>> PackedFile::open(const std::string& path) {
  std::shared_ptr<PackedFile> file(new PackedFile);
  if (auto error = file->map(path)) return error;
  if (auto error = file->readHeader()) return error;
  if (auto error = file->readIndex()) return error;
  // Zeroed, and common to the processes that a loader forks.
  void* checked = ::mmap(nullptr, file->header_.images(), PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (checked == MAP_FAILED) return failure("{}: {}", path, llvm::sys::StrError(errno));
  static_assert(sizeof(std::atomic<uint8_t>) == 1 && std::atomic<uint8_t>::is_always_lock_free);
  file->checked_ = static_cast<std::atomic<uint8_t>*>(checked);
  return std::shared_ptr<const PackedFile>(std::move(file));
}

std::string PackedFile::describe(uint64_t image) const {
  return image < header_.train ? fmt::format("training image {}", image)
                               : fmt::format("test image {}", image - header_.train);
}

llvm::Error PackedFile::check(uint64_t image) const {
  const uint64_t sum = packedSum({pixels(image), header_.imageBytes()});
  if (sum == sums_[image]) return llvm::Error::success();
  return llvm::make_error<CorruptImage>(
      fmt::format("{}: {} (class {}) is damaged: checksum {:016x}, expected {:016x}; pack it again", path_,
                  describe(image), names_[labels_[image]], sum, sums_[image]));
}

llvm::Error PackedFile::checkOnce(uint64_t image) const {
  if (checked_[image].load(std::memory_order_relaxed) != 0) return llvm::Error::success();
  if (auto error = check(image)) return error;
  checked_[image].store(1, std::memory_order_relaxed);
  return llvm::Error::success();
}

PackedImages::PackedImages(std::shared_ptr<const PackedFile> file, bool test) : file_(std::move(file)) {
  const PackedHeader& header = file_->header();
  first_ = test ? static_cast<int64_t>(header.train) : 0;
  count_ = static_cast<int64_t>(test ? header.test : header.train);
}

std::optional<Shape> PackedImages::shape() const {
  const PackedHeader& header = file_->header();
  return Shape{header.rows, header.cols, header.channels};
}

llvm::Expected<Pixels> PackedImages::read(int64_t index, std::vector<uint8_t>&) const {
  const auto image = static_cast<uint64_t>(first_ + index);
  if (auto error = file_->checkOnce(image)) return error;
  const PackedHeader& header = file_->header();
  return Pixels{file_->pixels(image), header.rows, header.cols, header.channels};
}

llvm::Expected<ImageSets> openPacked(const std::string& path) {
  auto file = PackedFile::open(path);
  if (!file) return file.takeError();
  return ImageSets{std::make_unique<PackedImages>(*file, false), std::make_unique<PackedImages>(*file, true)};
}

}  // namespace expc::data
