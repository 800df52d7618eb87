// libFuzzer's entry for models' folders and adapters (clang, -DEXPC_FUZZ=ON).

#include <cstddef>
#include <cstdint>

#include "tests/fuzz/model.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  expc::fuzz::readModel(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
