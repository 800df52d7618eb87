#include "runtime/worker/data/decode.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace expc::data {

uint8_t* Destination::place(int64_t rows, int64_t cols) const {
  if (out != nullptr && wanted.rows == rows && wanted.cols == cols && wanted.channels == 3) return out;
  const auto bytes = static_cast<size_t>(rows * cols * 3);
  if (scratch->size() < bytes) scratch->resize(bytes);
  return scratch->data();
}

namespace detail {

llvm::Error corrupt(std::string message) { return llvm::make_error<CorruptImage>(std::move(message)); }

llvm::Error checkSides(int64_t rows, int64_t cols) {
  if (rows >= 1 && cols >= 1 && rows <= kLargestSide && cols <= kLargestSide && rows * cols <= kMostPixels)
    return llvm::Error::success();
  return corrupt(fmt::format("its header says {} x {} pixels, expected 1 to {} each way and at most {} in all", cols,
                             rows, kLargestSide, kMostPixels));
}

}  // namespace detail

namespace {

enum class Format { Jpeg, Png };

/// By the first bytes.
llvm::Expected<Format> formatOf(llvm::ArrayRef<uint8_t> bytes) {
  static constexpr uint8_t kPng[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  if (bytes.size() >= 3 && bytes[0] == 0xff && bytes[1] == 0xd8 && bytes[2] == 0xff) return Format::Jpeg;
  if (bytes.size() >= std::size(kPng) && std::equal(std::begin(kPng), std::end(kPng), bytes.begin()))
    return Format::Png;
  if (bytes.empty()) return detail::corrupt("an empty file");
  std::string begin;
  for (uint8_t byte : bytes.take_front(8)) fmt::format_to(std::back_inserter(begin), "{:02x} ", byte);
  begin.pop_back();
  return detail::corrupt(fmt::format("neither JPEG nor PNG: it begins with {}", begin));
}

}  // namespace

llvm::Expected<Pixels> decode(llvm::ArrayRef<uint8_t> bytes, const Destination& to) {
  auto format = formatOf(bytes);
  if (!format) return format.takeError();
  return *format == Format::Jpeg ? detail::decodeJpeg(bytes, to) : detail::decodePng(bytes, to);
}

llvm::Expected<Header> readHeader(llvm::ArrayRef<uint8_t> bytes) {
  auto format = formatOf(bytes);
  if (!format) return format.takeError();
  auto shape = *format == Format::Jpeg ? detail::jpegShape(bytes) : detail::pngShape(bytes);
  if (!shape) return shape.takeError();
  return Header{*shape, *format == Format::Png};
}

}  // namespace expc::data
