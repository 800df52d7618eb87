// Checks what the formatter promises on every .exp file in some folders. usage: format_tree FOLDER…

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/format/properties.h"

int main(int argc, char** argv) {
  size_t formatted = 0, failed = 0;
  for (int at = 1; at < argc; ++at)
    for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[at])) {
      if (!entry.is_regular_file() || entry.path().extension() != ".exp") continue;
      std::ifstream in(entry.path(), std::ios::binary);
      std::stringstream text;
      text << in.rdbuf();
      formatted += expc::format_test::isFormatted(text.str()) ? 1 : 0;
      if (const auto broken = expc::format_test::brokenPromise(text.str())) {
        fmt::print("{}: {}\n", entry.path().string(), *broken);
        ++failed;
      }
    }
  fmt::print("{} files without syntax errors, {} broken promises\n", formatted, failed);
  return failed == 0 && formatted > 20 ? 0 : 1;
}
