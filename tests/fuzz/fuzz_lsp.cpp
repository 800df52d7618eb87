// libFuzzer's entry for the language server (clang, -DEXPC_FUZZ=ON).

#include <cstddef>
#include <cstdint>

#include "tests/fuzz/talk.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  expc::fuzz::talk(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
