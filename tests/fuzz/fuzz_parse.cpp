// libFuzzer's entry for the parser alone (clang, -DEXPC_FUZZ=ON).

#include <cstddef>
#include <cstdint>

#include "tests/fuzz/parse.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  expc::fuzz::parseText(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
