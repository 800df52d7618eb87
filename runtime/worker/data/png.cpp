#include <fmt/format.h>
#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstring>

#include "runtime/worker/data/decode.h"

// libpng leaves by longjmp. Between setjmp and the end of a reading function there are only plain values and pointers,
// so nothing is left undestroyed.

namespace expc::data::detail {
namespace {

struct Reading {
  const uint8_t* next = nullptr;
  size_t left = 0;
  png_structp png = nullptr;
  png_infop info = nullptr;
  png_uint_32 width = 0, height = 0;
  int bits = 0, colours = 0;
  int passes = 1;
  bool wide_grey = false;  // 16 bits, without alpha
  char message[128] = "";
};

void onError(png_structp png, png_const_charp message) {
  auto* reading = static_cast<Reading*>(png_get_error_ptr(png));
  std::strncpy(reading->message, message, sizeof(reading->message) - 1);
  png_longjmp(png, 1);
}

void onWarning(png_structp, png_const_charp) {}

void onRead(png_structp png, png_bytep out, size_t bytes) {
  auto* reading = static_cast<Reading*>(png_get_io_ptr(png));
  if (bytes > reading->left) png_error(png, "the file ends too early");
  std::memcpy(out, reading->next, bytes);
  reading->next += bytes;
  reading->left -= bytes;
}

/// Reads up to the first image data and asks for 8-bit red, green, blue; 16-bit grey stays as it is.
bool readHeader(Reading& reading) {
  if (setjmp(png_jmpbuf(reading.png)) != 0) return false;
  png_set_read_fn(reading.png, &reading, onRead);
  png_set_user_limits(reading.png, kLargestSide, kLargestSide);
  png_set_chunk_cache_max(reading.png, 256);
  png_set_chunk_malloc_max(reading.png, 16 << 20);
  png_read_info(reading.png, reading.info);
  png_get_IHDR(reading.png, reading.info, &reading.width, &reading.height, &reading.bits, &reading.colours, nullptr,
               nullptr, nullptr);
  reading.wide_grey = reading.bits == 16 && reading.colours == PNG_COLOR_TYPE_GRAY;
  if (reading.colours == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(reading.png);
  if (reading.colours == PNG_COLOR_TYPE_GRAY && reading.bits < 8) png_set_expand_gray_1_2_4_to_8(reading.png);
  if (!reading.wide_grey) {
    png_set_strip_16(reading.png);
    png_set_gray_to_rgb(reading.png);
  }
  png_set_strip_alpha(reading.png);
  reading.passes = png_set_interlace_handling(reading.png);
  png_read_update_info(reading.png, reading.info);
  return true;
}

/// 16-bit grey is 2 bytes a pixel, big-endian: they are read where the row's 3 bytes a pixel end, then widened in
/// place.
void widen(uint8_t* row, png_uint_32 width) {
  const uint8_t* in = row + width;
  for (png_uint_32 x = 0; x < width; ++x, row += 3) {
    const uint8_t high = in[2 * x], low = in[2 * x + 1];
    row[0] = row[1] = row[2] = high != 0 ? 255 : low;
  }
}

bool readRows(Reading& reading, uint8_t* out) {
  if (setjmp(png_jmpbuf(reading.png)) != 0) return false;
  const size_t line = size_t{3} * reading.width, offset = reading.wide_grey ? reading.width : 0;
  for (int pass = 0; pass < reading.passes; ++pass)
    for (png_uint_32 y = 0; y < reading.height; ++y) png_read_row(reading.png, out + y * line + offset, nullptr);
  if (reading.wide_grey)
    for (png_uint_32 y = 0; y < reading.height; ++y) widen(out + y * line, reading.width);
  return true;
}

llvm::Expected<Pixels> read(Reading& reading, const Destination& to) {
  if (!readHeader(reading)) return corrupt(fmt::format("not a readable PNG: {}", reading.message));
  if (auto error = checkSides(reading.height, reading.width)) return error;
  const size_t expected = size_t{reading.wide_grey ? 2u : 3u} * reading.width;
  if (png_get_rowbytes(reading.png, reading.info) != expected)
    return corrupt(
        fmt::format("a PNG of {} bits and colour type {}, which is not read", reading.bits, reading.colours));
  uint8_t* out = to.place(reading.height, reading.width);
  // Rows that an interlaced file has not brought yet are read before they are written.
  if (reading.passes > 1) std::fill_n(out, size_t{3} * reading.width * reading.height, uint8_t{0});
  if (!readRows(reading, out)) return corrupt(fmt::format("damaged PNG: {}", reading.message));
  return Pixels{out, static_cast<int64_t>(reading.height), static_cast<int64_t>(reading.width), 3};
}

}  // namespace

llvm::Expected<Shape> pngShape(llvm::ArrayRef<uint8_t> bytes) {
  constexpr size_t kHeader = 24;  // signature, length, "IHDR", width, height
  if (bytes.size() < kHeader || std::memcmp(bytes.data() + 12, "IHDR", 4) != 0)
    return corrupt("not a readable PNG: it does not begin with its size");
  const int64_t cols = png_get_uint_32(bytes.data() + 16), rows = png_get_uint_32(bytes.data() + 20);
  if (auto error = checkSides(rows, cols)) return error;
  return Shape{rows, cols, 3};
}

llvm::Expected<Pixels> decodePng(llvm::ArrayRef<uint8_t> bytes, const Destination& to) {
  Reading reading;
  reading.next = bytes.data();
  reading.left = bytes.size();
  reading.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reading, onError, onWarning);
  if (reading.png != nullptr) reading.info = png_create_info_struct(reading.png);
  if (reading.info == nullptr) {
    png_destroy_read_struct(&reading.png, nullptr, nullptr);
    return llvm::createStringError(llvm::inconvertibleErrorCode(), "no memory for a PNG decoder");
  }
  auto pixels = read(reading, to);
  png_destroy_read_struct(&reading.png, &reading.info, nullptr);
  return pixels;
}

}  // namespace expc::data::detail
