// libFuzzer's entry (clang, -DEXPC_FUZZ=ON) of every target; CMakeLists.txt says which header and function it feeds.

#include <cstddef>
#include <cstdint>
#include <string>

#include EXPC_FUZZ_HEADER

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  EXPC_FUZZ_FEED(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
