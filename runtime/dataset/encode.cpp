#include "runtime/dataset/encode.h"

#include <png.h>
#include <turbojpeg.h>

#include <memory>

#include "runtime/base/failure.h"

namespace expc::dataset {
namespace {

constexpr int kQuality = 85;

struct Destroy {
  void operator()(void* handle) const { tjDestroy(handle); }
};
struct Free {
  void operator()(unsigned char* bytes) const { tjFree(bytes); }
};

using base::failure;

}  // namespace

llvm::Expected<std::vector<uint8_t>> encodeJpeg(const uint8_t* pixels, int64_t size) {
  static thread_local const std::unique_ptr<void, Destroy> handle(tjInitCompress());
  if (!handle) return failure("no memory for a JPEG encoder");
  unsigned char* made = nullptr;
  unsigned long bytes = 0;
  const int side = static_cast<int>(size);
  const int code = tjCompress2(handle.get(), pixels, side, 0, side, TJPF_RGB, &made, &bytes, TJSAMP_420, kQuality,
                               TJFLAG_ACCURATEDCT);
  const std::unique_ptr<unsigned char, Free> owned(made);
  if (code != 0) return failure("JPEG: {}", tjGetErrorStr2(handle.get()));
  return std::vector<uint8_t>(made, made + bytes);
}

llvm::Expected<std::vector<uint8_t>> encodePng(const uint8_t* pixels, int64_t size) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = image.height = static_cast<png_uint_32>(size);
  image.format = PNG_FORMAT_RGB;
  png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::vector<uint8_t> out(bytes);
  if (png_image_write_to_memory(&image, out.data(), &bytes, 0, pixels, 0, nullptr) == 0)
    return failure("PNG: {}", image.message);
  out.resize(bytes);
  return out;
}

}  // namespace expc::dataset
