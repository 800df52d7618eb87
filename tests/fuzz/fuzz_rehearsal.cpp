// libFuzzer's entry for files of rehearsals (clang, -DEXPC_FUZZ=ON).

#include <cstddef>
#include <cstdint>

#include "tests/fuzz/rehearsal.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  expc::fuzz::readRehearsal(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
