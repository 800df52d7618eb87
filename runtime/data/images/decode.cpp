// JPEG by TurboJPEG, PNG by libpng. Settings follow PIL: the accurate inverse transform and smooth upsampling for JPEG,
// and PIL's conversions of palettes, depths and alpha for PNG. A warning that loses nothing of the picture is ignored,
// as PIL does; every other irregularity makes the image corrupt.

#include "runtime/data/images/decode.h"

#include <png.h>
#include <turbojpeg.h>

#include <algorithm>
#include <csetjmp>
#include <cstring>
#include <iterator>
#include <memory>
#include <string_view>

#include "runtime/base/failure.h"
#include "runtime/base/format.h"
#include "runtime/base/llvm.h"

namespace expc::data {
namespace {

Error corrupt(std::string message) { return llvm::make_error<CorruptImage>(std::move(message)); }

/// Refuses sizes that are zero or beyond the limits.
Error checkSides(int64_t rows, int64_t cols) {
  if (rows >= 1 && cols >= 1 && rows <= kLargestSide && cols <= kLargestSide && rows * cols <= kMostPixels)
    return Error::success();
  return corrupt(fmt::format("{}its header says {} x {} pixels, expected 1 to {} each way and at most {} in all",
                             rows >= 1 && cols >= 1 ? "too large: " : "", cols, rows, kLargestSide, kMostPixels));
}

/// Whether a warning of libjpeg leaves the picture complete. libjpeg and PIL go on after these.
bool harmless(std::string_view warning) {
  return warning.find("extraneous bytes") != std::string_view::npos ||
         warning.find("Unknown Adobe") != std::string_view::npos || warning.find("ICC") != std::string_view::npos;
}

using Decoder = std::unique_ptr<void, int (*)(void*)>;

/// The decoder of this thread, made when it is first used; null if there is no memory.
Decoder& decoder() {
  static thread_local Decoder handle(nullptr, tjDestroy);
  if (!handle) handle.reset(tjInitDecompress());
  return handle;
}

Error noMemory() { return failure("no memory for a JPEG decoder"); }

/// An error with TurboJPEG's message. The decoder is given up: after a header that ends too early, it would go on in
/// the middle of that header with the next image.
Error damagedJpeg(Decoder& handle) {
  Error error = corrupt(fmt::format("damaged JPEG: {}", tjGetErrorStr2(handle.get())));
  handle.reset();
  return error;
}

/// The shape in a JPEG's header; refuses CMYK.
Expected<Shape> jpegShape(ArrayRef<uint8_t> bytes) {
  Decoder& handle = decoder();
  if (!handle) return noMemory();
  int width = 0, height = 0, subsampling = 0, colours = 0;
  // A warning about the header is no error if there is a size to work with; decoding tells whether the picture is
  // complete.
  if (tjDecompressHeader3(handle.get(), bytes.data(), bytes.size(), &width, &height, &subsampling, &colours) != 0 &&
      (tjGetErrorCode(handle.get()) == TJERR_FATAL || width < 1 || height < 1))
    return damagedJpeg(handle);
  if (colours == TJCS_CMYK || colours == TJCS_YCCK)
    return corrupt("a CMYK JPEG; convert it to RGB, for example with `magick FILE -colorspace sRGB FILE`");
  TRY(checkSides(height, width));
  return Shape{height, width, 3};
}

Expected<Pixels> decodeJpeg(ArrayRef<uint8_t> bytes, const Destination& to) {
  auto shape = TRY(jpegShape(bytes));
  Decoder& handle = decoder();
  if (!handle) return noMemory();
  const int width = int(shape.cols), height = int(shape.rows);
  uint8_t* out = to.place(height, width);
  // libjpeg's defaults, and so PIL's: the accurate transform and smooth upsampling. LIMITSCANS stops progressive files
  // with endless scans, a known way to occupy a decoder.
  if (tjDecompress2(handle.get(), bytes.data(), bytes.size(), out, width, 0, height, TJPF_RGB,
                    TJFLAG_ACCURATEDCT | TJFLAG_LIMITSCANS) != 0 &&
      (tjGetErrorCode(handle.get()) == TJERR_FATAL || !harmless(tjGetErrorStr2(handle.get()))))
    return damagedJpeg(handle);
  return Pixels{out, height, width, 3};
}

/// The state of reading one PNG. libpng reports errors by longjmp, so between setjmp and the end of a function that
/// reads there must be only plain values and pointers: destructors would not run.
struct Reading {
  const uint8_t* next = nullptr;
  size_t left = 0;
  png_structp png = nullptr;
  png_infop info = nullptr;
  png_uint_32 width = 0, height = 0;
  int bits = 0, colours = 0;
  int passes = 1;
  bool wide_grey = false;  // 16 bits without alpha, which PIL treats specially
  char message[128] = "";
};

// Callbacks of libpng.
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

/// Reads up to the image data and asks for 8-bit red, green, blue; 16-bit grey stays as it is. False after an error,
/// with its message in `reading`.
bool beginPng(Reading& reading) {
  if (setjmp(png_jmpbuf(reading.png)) != 0) return false;
  png_set_read_fn(reading.png, &reading, onRead);
  png_set_user_limits(reading.png, kLargestSide, kLargestSide);
  // Limits on chunks that we do not need, against files that are all metadata.
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

/// Widens a row of 16-bit grey in place, 2 bytes a pixel to 3. The input lies at the end of the row's memory, so that
/// reading stays ahead of writing. PIL clips 16-bit grey at 255 instead of taking the upper bits.
void widen(uint8_t* row, png_uint_32 width) {
  const uint8_t* in = row + width;
  for (png_uint_32 x = 0; x < width; ++x, row += 3) {
    const uint8_t high = in[2 * x], low = in[2 * x + 1];
    row[0] = row[1] = row[2] = high != 0 ? 255 : low;
  }
}

/// Reads all rows into `out`. False after an error.
bool readPngRows(Reading& reading, uint8_t* out) {
  if (setjmp(png_jmpbuf(reading.png)) != 0) return false;
  const size_t line = size_t{3} * reading.width, offset = reading.wide_grey ? reading.width : 0;
  for (int pass = 0; pass < reading.passes; ++pass)
    for (png_uint_32 y = 0; y < reading.height; ++y) png_read_row(reading.png, out + y * line + offset, nullptr);
  if (reading.wide_grey)
    for (png_uint_32 y = 0; y < reading.height; ++y) widen(out + y * line, reading.width);
  return true;
}

/// Reads a PNG whose structures were made.
Expected<Pixels> readPng(Reading& reading, const Destination& to) {
  if (!beginPng(reading)) return corrupt(fmt::format("not a readable PNG: {}", reading.message));
  const size_t expected = size_t{reading.wide_grey ? 2u : 3u} * reading.width;
  // libpng's transformations must have given the row that the memory is sized for.
  if (png_get_rowbytes(reading.png, reading.info) != expected)
    return corrupt(
        fmt::format("a PNG of {} bits and colour type {}, which is not supported", reading.bits, reading.colours));
  uint8_t* out = to.place(reading.height, reading.width);
  // An interlaced file is read in passes, and libpng combines each row with what is there, so the memory must be
  // initialised.
  if (reading.passes > 1) std::fill_n(out, size_t{3} * reading.width * reading.height, uint8_t{0});
  if (!readPngRows(reading, out)) return corrupt(fmt::format("damaged PNG: {}", reading.message));
  return Pixels{out, int64_t(reading.height), int64_t(reading.width), 3};
}

/// The shape in a PNG's header, which must be its first chunk.
Expected<Shape> pngShape(ArrayRef<uint8_t> bytes) {
  constexpr size_t kHeader = 24;  // signature, length, "IHDR", width, height
  if (bytes.size() < kHeader || std::memcmp(bytes.data() + 12, "IHDR", 4) != 0)
    return corrupt("not a readable PNG: it does not start with its size");
  const int64_t cols = png_get_uint_32(bytes.data() + 16), rows = png_get_uint_32(bytes.data() + 20);
  TRY(checkSides(rows, cols));
  return Shape{rows, cols, 3};
}

Expected<Pixels> decodePng(ArrayRef<uint8_t> bytes, const Destination& to) {
  // Checked before libpng is asked, which would only say that the image is invalid.
  TRY(pngShape(bytes));
  Reading reading;
  reading.next = bytes.data();
  reading.left = bytes.size();
  reading.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reading, onError, onWarning);
  if (reading.png) reading.info = png_create_info_struct(reading.png);
  if (!reading.info) {
    png_destroy_read_struct(&reading.png, nullptr, nullptr);
    return failure("no memory for a PNG decoder");
  }
  auto pixels = readPng(reading, to);
  png_destroy_read_struct(&reading.png, &reading.info, nullptr);
  return pixels;
}

enum class Format { Jpeg, Png };

/// The format of a file by its first bytes.
Expected<Format> formatOf(ArrayRef<uint8_t> bytes) {
  static constexpr uint8_t kPng[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  if (bytes.size() >= 3 && bytes[0] == 0xff && bytes[1] == 0xd8 && bytes[2] == 0xff) return Format::Jpeg;
  if (bytes.size() >= std::size(kPng) && std::equal(std::begin(kPng), std::end(kPng), bytes.begin()))
    return Format::Png;
  if (bytes.empty()) return corrupt("an empty file");
  std::string begin;
  for (uint8_t byte : bytes.take_front(8)) fmt::format_to(std::back_inserter(begin), "{:02x} ", byte);
  begin.pop_back();
  return corrupt(fmt::format("neither JPEG nor PNG: it begins with {}", begin));
}

}  // namespace

uint8_t* Destination::place(int64_t rows, int64_t cols) const {
  if (out && wanted.rows == rows && wanted.cols == cols && wanted.channels == 3) return out;
  const auto bytes = size_t(rows * cols * 3);
  if (scratch->size() < bytes) scratch->resize(bytes);
  return scratch->data();
}

Expected<Pixels> decode(ArrayRef<uint8_t> bytes, const Destination& to) {
  auto format = TRY(formatOf(bytes));
  return format == Format::Jpeg ? decodeJpeg(bytes, to) : decodePng(bytes, to);
}

Expected<Header> readHeader(ArrayRef<uint8_t> bytes) {
  auto format = TRY(formatOf(bytes));
  auto shape = TRY(format == Format::Jpeg ? jpegShape(bytes) : pngShape(bytes));
  return Header{shape, format == Format::Png};
}

}  // namespace expc::data
