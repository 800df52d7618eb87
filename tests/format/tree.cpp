// Checks what the formatter promises on every .exp file in some folders, and on those files with other white space.
// usage: format_tree [--variants N] FOLDER…

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ios>
#include <sstream>
#include <string_view>

#include "runtime/base/format.h"
#include "tests/format/properties.h"

using namespace expc::format_test;

int main(int argc, char** argv) {
  unsigned variants = 12;
  size_t files = 0, texts = 0, failed = 0;
  const auto check = [&](const std::string& name, const std::string& text) {
    ++texts;
    const auto broken = brokenPromise(text);
    if (!broken) return;
    fmt::print("{}: {}\n", name, *broken);
    ++failed;
  };
  int at = 1;
  if (argc > 2 && std::string_view(argv[1]) == "--variants") {
    variants = unsigned(std::strtoul(argv[2], nullptr, 10));
    at = 3;
  }
  for (; at < argc; ++at)
    for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[at])) {
      if (!entry.is_regular_file() || entry.path().extension() != ".exp") continue;
      std::ifstream in(entry.path(), std::ios::binary);
      std::stringstream text;
      text << in.rdbuf();
      if (!isFormatted(text.str())) continue;
      ++files;
      check(entry.path().string(), text.str());
      // Other ones of each file: what a seed stands for repeats after 60.
      for (unsigned number = 0; number < variants && failed < 20; ++number) {
        const auto seed = unsigned(files * 7 + number);
        const std::string variant = scrambled(text.str(), seed);
        check(fmt::format("{}, scrambled with {}", entry.path().string(), seed), variant);
        if (!isFormatted(variant)) fmt::print("{}: scrambling broke it\n", entry.path().string()), ++failed;
      }
    }
  fmt::print("{} files without syntax errors, {} texts, {} broken promises\n", files, texts, failed);
  return failed == 0 && files > 20 ? 0 : 1;
}
