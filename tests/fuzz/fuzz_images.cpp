// libFuzzer's entry for images and packed files (clang, -DEXPC_FUZZ=ON).

#include <cstddef>
#include <cstdint>

#include "tests/fuzz/images.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  expc::fuzz::readImages(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
