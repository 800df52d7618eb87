// libFuzzer's entry for tokenizer files and rows of text (clang, -DEXPC_FUZZ=ON).

#include <cstddef>
#include <cstdint>

#include "tests/fuzz/text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  expc::fuzz::readTexts(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
