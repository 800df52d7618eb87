// JPEG consists of segments: 0xff, a kind, two bytes of length. EXIF is the segment APP1 that begins with "Exif\0\0"; a
// TIFF header and a list of tags follow, in the byte order that the header names (CIPA DC-008).

#include "runtime/data/images/orientation.h"

#include <llvm/Support/Endian.h>

#include <optional>

namespace expc::data {
namespace {

/// Reads numbers at offsets that a file names, with bounds.
class Tiff {
 public:
  explicit Tiff(ArrayRef<uint8_t> bytes) : bytes_(bytes) {}

  int orientation() {
    if (bytes_.size() < 8) return 1;
    if (bytes_[0] != bytes_[1] || (bytes_[0] != 'I' && bytes_[0] != 'M')) return 1;
    order_ = bytes_[0] == 'I' ? llvm::endianness::little : llvm::endianness::big;
    const uint64_t list = number<uint32_t>(4).value_or(0);
    const uint64_t count = number<uint16_t>(list).value_or(0);
    // A tag has 12 bytes: its number, its type (3: two bytes), how many values, the value.
    for (uint64_t at = list + 2; at < list + 2 + 12 * count; at += 12) {
      if (number<uint16_t>(at) != kOrientation) continue;
      const int value = number<uint16_t>(at + 2) == 3 ? number<uint16_t>(at + 8).value_or(1) : 1;
      return value >= 1 && value <= 8 ? value : 1;
    }
    return 1;
  }

 private:
  static constexpr uint16_t kOrientation = 0x0112;

  template <typename Number>
  std::optional<Number> number(uint64_t at) const {
    if (at + sizeof(Number) > bytes_.size()) return std::nullopt;
    return llvm::support::endian::read<Number>(bytes_.data() + at, order_);
  }

  ArrayRef<uint8_t> bytes_;
  llvm::endianness order_ = llvm::endianness::little;
};

}  // namespace

int orientationOf(ArrayRef<uint8_t> bytes) {
  static constexpr uint8_t kBegin[] = {0xff, 0xd8}, kExif[] = {'E', 'x', 'i', 'f', 0, 0};
  constexpr uint8_t kApp1 = 0xe1, kScan = 0xda;
  if (!bytes.take_front(2).equals(kBegin)) return 1;
  for (bytes = bytes.drop_front(2); bytes.size() >= 4 && bytes[0] == 0xff && bytes[1] != kScan;) {
    const size_t length = llvm::support::endian::read16be(bytes.data() + 2);
    if (length < 2 || length + 2 > bytes.size()) return 1;
    const ArrayRef<uint8_t> content = bytes.slice(4, length - 2);
    if (bytes[1] == kApp1 && content.take_front(6).equals(kExif)) return Tiff(content.drop_front(6)).orientation();
    bytes = bytes.drop_front(length + 2);
  }
  return 1;
}

}  // namespace expc::data
