// libFuzzer's entry for the formatter (clang, -DEXPC_FUZZ=ON).

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "tests/format/properties.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto broken = expc::format_test::brokenPromise(std::string(reinterpret_cast<const char*>(data), size));
  if (!broken) return 0;
  std::fprintf(stderr, "%s\n", broken->c_str());
  std::abort();
}
