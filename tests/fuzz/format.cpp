#include "tests/fuzz/format.h"

#include <cstdio>
#include <cstdlib>
#include <functional>

#include "tests/format/properties.h"

namespace expc::fuzz {

void formatText(const std::string& text) {
  using namespace format_test;
  const unsigned seed = unsigned(std::hash<std::string>{}(text));
  for (const std::string& input : {text, isFormatted(text) ? scrambled(text, seed) : std::string()}) {
    const auto broken = brokenPromise(input);
    if (!broken) continue;
    std::fprintf(stderr, "%s\n", broken->c_str());
    std::abort();
  }
}

}  // namespace expc::fuzz
