// Feeds files to the function that the fuzzer calls, so that every build replays what fuzzing once found, without
// clang.

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/fuzz/frontend.h"

int main(int argc, char** argv) {
  size_t count = 0;
  for (int at = 1; at < argc; ++at)
    for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[at])) {
      if (!entry.is_regular_file()) continue;
      std::ifstream in(entry.path(), std::ios::binary);
      std::stringstream text;
      text << in.rdbuf();
      fmt::print("{}\n", entry.path().string());
      std::fflush(stdout);  // the last line names the file that broke it
      expc::fuzz::compileText(text.str());
      ++count;
    }
  fmt::print("{} inputs\n", count);
  return count > 0 ? 0 : 1;
}
