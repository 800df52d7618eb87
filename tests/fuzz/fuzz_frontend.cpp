// libFuzzer's entry (clang, -DEXPC_FUZZ=ON).

#include <cstddef>
#include <cstdint>

#include "tests/fuzz/frontend.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  expc::fuzz::compileText(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
