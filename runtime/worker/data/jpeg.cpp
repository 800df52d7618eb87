#include <fmt/format.h>
#include <turbojpeg.h>

#include <memory>
#include <string_view>

#include "runtime/worker/data/decode.h"

namespace expc::data::detail {
namespace {

struct Destroy {
  void operator()(void* handle) const { tjDestroy(handle); }
};

/// libjpeg goes on after these, and so does PIL: nothing of the picture is lost.
bool harmless(std::string_view warning) {
  return warning.find("extraneous bytes") != std::string_view::npos ||
         warning.find("Unknown Adobe") != std::string_view::npos || warning.find("ICC") != std::string_view::npos;
}

using Decoder = std::unique_ptr<void, Destroy>;

/// A thread's decoder, or null.
Decoder& decoder() {
  static thread_local Decoder handle;
  if (!handle) handle.reset(tjInitDecompress());
  return handle;
}

llvm::Error noMemory() {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), "no memory for a JPEG decoder");
}

/// Gives the decoder up: after a header that ends too early TurboJPEG goes on in the middle of it with the next image.
llvm::Error damaged(Decoder& handle) {
  llvm::Error error = corrupt(fmt::format("damaged JPEG: {}", tjGetErrorStr2(handle.get())));
  handle.reset();
  return error;
}

}  // namespace

llvm::Expected<Shape> jpegShape(llvm::ArrayRef<uint8_t> bytes) {
  Decoder& handle = decoder();
  if (!handle) return noMemory();
  int width = 0, height = 0, subsampling = 0, colours = 0;
  if (tjDecompressHeader3(handle.get(), bytes.data(), bytes.size(), &width, &height, &subsampling, &colours) != 0 &&
      (tjGetErrorCode(handle.get()) == TJERR_FATAL || width < 1 || height < 1))
    return damaged(handle);
  if (colours == TJCS_CMYK || colours == TJCS_YCCK)
    return corrupt("a CMYK JPEG; convert it to RGB, for example with `magick FILE -colorspace sRGB FILE`");
  if (auto error = checkSides(height, width)) return error;
  return Shape{height, width, 3};
}

llvm::Expected<Pixels> decodeJpeg(llvm::ArrayRef<uint8_t> bytes, const Destination& to) {
  auto shape = jpegShape(bytes);
  if (!shape) return shape.takeError();
  Decoder& handle = decoder();
  if (!handle) return noMemory();
  const int width = static_cast<int>(shape->cols), height = static_cast<int>(shape->rows);
  uint8_t* out = to.place(height, width);
  // As libjpeg's default and so PIL's: the accurate transform, smooth upsampling. A file cannot ask for scans without
  // end.
  if (tjDecompress2(handle.get(), bytes.data(), bytes.size(), out, width, 0, height, TJPF_RGB,
                    TJFLAG_ACCURATEDCT | TJFLAG_LIMITSCANS) != 0 &&
      (tjGetErrorCode(handle.get()) == TJERR_FATAL || !harmless(tjGetErrorStr2(handle.get()))))
    return damaged(handle);
  return Pixels{out, height, width, 3};
}

}  // namespace expc::data::detail
