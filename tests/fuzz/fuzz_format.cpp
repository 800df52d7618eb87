// libFuzzer's entry for the formatter (clang, -DEXPC_FUZZ=ON).

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/format/properties.h"

/// Checks the input, and what its bytes make of it with other white space and longer names.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace expc::format_test;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const unsigned seed = static_cast<unsigned>(std::hash<std::string>{}(text));
  for (const std::string& input : {text, isFormatted(text) ? scrambled(text, seed) : std::string()}) {
    const auto broken = brokenPromise(input);
    if (!broken) continue;
    std::fprintf(stderr, "%s\n", broken->c_str());
    std::abort();
  }
  return 0;
}
