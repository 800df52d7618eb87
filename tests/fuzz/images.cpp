#include "tests/fuzz/images.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "runtime/base/format.h"
#include "runtime/data/images/decode.h"
#include "runtime/data/images/orientation.h"
#include "runtime/data/images/packed.h"

namespace expc::fuzz {
namespace {

void require(bool kept) {
  if (!kept) std::abort();
}

const uint8_t* bytesOf(const std::string& text) { return reinterpret_cast<const uint8_t*>(text.data()); }

void decodeImage(const std::string& bytes) {
  const int orientation = data::orientationOf({bytesOf(bytes), bytes.size()});
  require(orientation >= 1 && orientation <= 8);
  std::vector<uint8_t> scratch;
  auto pixels = data::decode({bytesOf(bytes), bytes.size()}, {{}, nullptr, &scratch});
  auto header = data::readHeader({bytesOf(bytes), bytes.size()});
  if (pixels) {
    require(pixels->data == scratch.data() && pixels->channels == 3);
    require(size_t(pixels->rows * pixels->cols * 3) <= scratch.size());
    // A header that can be decoded can be read.
    require(bool(header) && header->shape.rows == pixels->rows && header->shape.cols == pixels->cols);
    return;
  }
  Error error = pixels.takeError();
  require(error.isA<data::CorruptImage>());
  consumeError(std::move(error));
  if (!header) consumeError(header.takeError());
}

void readPacked(const std::string& bytes) {
  const int file = ::memfd_create("packed", MFD_CLOEXEC);
  require(file >= 0 && ::write(file, bytes.data(), bytes.size()) == ssize_t(bytes.size()));
  const std::string path = fmt::format("/proc/self/fd/{}", file);
  auto sets = data::openPacked(path);
  std::vector<uint8_t> scratch;
  if (!sets)
    require(toString(sets.takeError()).starts_with(path));
  else
    for (const data::Images* set : {sets->train.get(), sets->test.get()})
      for (int64_t i = 0; i < std::min<int64_t>(set->count(), 100); ++i) {
        require(set->label(i) < set->classes());
        require(set->className(set->label(i)).size() <= bytes.size());
        auto pixels = set->read(i, scratch);
        if (!pixels) require(toString(pixels.takeError()).starts_with(path));
      }
  ::close(file);
}

/// The same with checksums that fit, so that what lies behind them is met.
std::string withPackedSums(std::string bytes) {
  data::PackedHeader header;
  if (bytes.size() < sizeof(header)) return bytes;
  std::memcpy(&header, bytes.data(), sizeof(header));
  std::memcpy(header.magic, data::kPackedMagic, sizeof(header.magic));
  header.version = data::kPackedVersion;
  if (header.pixels_at >= sizeof(header) && header.pixels_at <= bytes.size())
    header.index_sum = data::packedSum({bytesOf(bytes) + sizeof(header), bytesOf(bytes) + header.pixels_at});
  header.header_sum = data::headerSum(header);
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

}  // namespace

void readImages(const std::string& bytes) {
  decodeImage(bytes);
  readPacked(bytes);
  readPacked(withPackedSums(bytes));
}

}  // namespace expc::fuzz
