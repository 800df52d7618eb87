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

#include <llvm/Support/MemoryBuffer.h>

#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/data/images/images.h"

namespace expc::data {

inline constexpr char kPackedMagic[8] = {'e', 'x', 'p', 'c', 'p', 'a', 'c', 'k'};
inline constexpr uint32_t kPackedVersion = 1;
inline constexpr uint64_t kPackedAlignment = 4096;          // a page, so that the pixels can be mapped by themselves
inline constexpr uint64_t kMostPacked = uint64_t{1} << 32;  // the most images in each set
inline constexpr uint32_t kMostClasses = 1u << 20;
inline constexpr uint64_t kMostNameBytes = uint64_t{1} << 28;

static_assert(std::endian::native == std::endian::little, "packed files are read as they lie");

/// The first bytes of a packed file, as they lie in it.
struct PackedHeader {
  char magic[8];
  uint32_t version;
  uint32_t rows, cols;
  uint32_t channels;  // 1 grey, 3 red, green, blue
  uint32_t classes;
  uint32_t zero;
  uint64_t train, test;  // numbers of images
  uint64_t name_bytes;
  uint64_t pixels_at;  // offset of the pixels in the file
  uint64_t file_bytes;
  uint64_t zeros;
  uint64_t index_sum;  // XXH3-64 of the bytes from the sums to the zeros
  /// XXH3-64 of the fields above. It identifies the whole content: it covers index_sum, which covers the sums of all
  /// pixels.
  uint64_t header_sum;

  /// Images of both sets, and bytes of each.
  uint64_t images() const { return train + test; }
  uint64_t imageBytes() const { return uint64_t{rows} * cols * channels; }
};
static_assert(sizeof(PackedHeader) == 96);

/// XXH3-64 of some bytes, as the reference implementation computes it.
uint64_t packedSum(ArrayRef<uint8_t> bytes);
/// The offset at which the pixels begin, for a header whose counts are set and within the limits above.
uint64_t packedPixelsAt(const PackedHeader& header);
/// The value that header.header_sum must have.
uint64_t headerSum(const PackedHeader& header);

/// One packed file, mapped. The file must not be truncated while it is open: the system ends a process that reads a
/// mapped page that is gone. `expc data pack` therefore never writes into an existing file but puts another in its
/// place. Safe for several threads.
class PackedFile {
 public:
  /// Maps a file and checks everything but the pixels, which would mean reading all of it. Errors name the file and the
  /// fault.
  static Expected<std::shared_ptr<const PackedFile>> open(const std::string& path);

  const std::string& path() const { return path_; }
  const PackedHeader& header() const { return header_; }
  const std::vector<std::string>& classNames() const { return names_; }
  /// The label and pixels of an image; training images are numbered first, then test images.
  uint32_t label(uint64_t image) const { return labels_[image]; }
  const uint8_t* pixels(uint64_t image) const { return bytes() + header_.pixels_at + image * header_.imageBytes(); }
  /// CorruptImage if the image's pixels do not have the sum in the index. Each image is checked once, by this process
  /// or one that it forked.
  Error check(uint64_t image) const;
  /// An image in messages: "test image 7".
  std::string describe(uint64_t image) const;

 private:
  PackedFile() = default;
  const uint8_t* bytes() const { return reinterpret_cast<const uint8_t*>(file_->getBufferStart()); }
  Error readHeader();
  Error readIndex();

  std::string path_;
  PackedHeader header_{};
  std::unique_ptr<llvm::MemoryBuffer> file_;
  const uint64_t* sums_ = nullptr;  // points into the mapped file, as labels_ does
  const uint32_t* labels_ = nullptr;
  std::vector<std::string> names_;
  std::shared_ptr<void> checked_;  // a std::atomic<uint8_t> for each image, in memory shared with forked processes
};

/// Opens the training and test images of a packed file. Their pixels lie in the mapped file, and each image's sum is
/// checked when it is first read.
Expected<ImageSets> openPacked(const std::string& path);

}  // namespace expc::data
