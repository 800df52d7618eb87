#pragma once

// A file of decoded images of one size, mapped into memory: `data = packed("FILE")`. `expc data pack` writes it.
//
// Numbers are little-endian. In this order:
//   header  PackedHeader, 96 bytes; the last 8 are the XXH3-64 of those before
//   sums    XXH3-64 of each image's pixels, 8 bytes each; training images come first, then test images
//   labels  4 bytes each, in the same order
//   names   of each class: its length in 4 bytes, then its bytes (UTF-8)
//   zeros   to the next multiple of kPackedAlignment
//   pixels  rows x cols x channels bytes for each image, channels last, one image after the other to the file's end

#include <llvm/ADT/ArrayRef.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/MemoryBuffer.h>

#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/data/images/images.h"

namespace expc::data {

inline constexpr char kPackedMagic[8] = {'e', 'x', 'p', 'c', 'p', 'a', 'c', 'k'};
inline constexpr uint32_t kPackedVersion = 1;
inline constexpr uint64_t kPackedAlignment = 4096;  // a page: pixels of several files can be mapped by themselves
inline constexpr uint64_t kMostPacked = uint64_t{1} << 32;  // images
inline constexpr uint32_t kMostClasses = 1u << 20;
inline constexpr uint64_t kMostNameBytes = uint64_t{1} << 28;

static_assert(std::endian::native == std::endian::little, "packed files are read as they lie");

struct PackedHeader {
  char magic[8];
  uint32_t version;
  uint32_t rows, cols;
  uint32_t channels;  // 1 grey, 3 red, green, blue
  uint32_t classes;
  uint32_t zero;
  uint64_t train, test;  // images
  uint64_t name_bytes;
  uint64_t pixels_at;  // offset in the file
  uint64_t file_bytes;
  uint64_t zeros;
  uint64_t index_sum;   // XXH3-64 of sums to zeros
  uint64_t header_sum;  // stands for the whole file: it covers the index, and that the pixels

  uint64_t images() const { return train + test; }
  uint64_t imageBytes() const { return uint64_t{rows} * cols * channels; }
};
static_assert(sizeof(PackedHeader) == 96);

/// XXH3-64, as the reference implementation gives it.
uint64_t packedSum(llvm::ArrayRef<uint8_t> bytes);
/// Where the pixels begin, of a header whose counts are set. The counts must be within the limits above.
uint64_t packedPixelsAt(const PackedHeader& header);
/// What `header_sum` must be.
uint64_t headerSum(const PackedHeader& header);

/// One file, mapped. It must not be cut short meanwhile (the system ends a process that reads what is gone); `expc data
/// pack` never writes into a file that is there, it puts another in its place.
class PackedFile {
 public:
  /// Reads and checks all but the pixels. Errors name the file and what is wrong.
  static llvm::Expected<std::shared_ptr<const PackedFile>> open(const std::string& path);

  const std::string& path() const { return path_; }
  const PackedHeader& header() const { return header_; }
  const std::vector<std::string>& classNames() const { return names_; }
  uint32_t label(uint64_t image) const { return labels_[image]; }
  const uint8_t* pixels(uint64_t image) const { return bytes() + header_.pixels_at + image * header_.imageBytes(); }
  /// CorruptImage unless the image's bytes are those that were packed; looked at only once by this process and those it
  /// forks.
  llvm::Error check(uint64_t image) const;
  /// "test image 7"
  std::string describe(uint64_t image) const;

 private:
  PackedFile() = default;
  const uint8_t* bytes() const { return reinterpret_cast<const uint8_t*>(file_->getBufferStart()); }
  llvm::Error readHeader();
  llvm::Error readIndex();

  std::string path_;
  PackedHeader header_{};
  std::unique_ptr<llvm::MemoryBuffer> file_;
  const uint64_t* sums_ = nullptr;
  const uint32_t* labels_ = nullptr;
  std::vector<std::string> names_;
  std::shared_ptr<void> checked_;  // shared memory, a std::atomic<uint8_t> for each image
};

/// Its training and test images, whose pixels lie in the file. Each image's sum is checked when it is read for the
/// first time.
llvm::Expected<ImageSets> openPacked(const std::string& path);

}  // namespace expc::data
