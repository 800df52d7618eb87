#include "runtime/engine/log_tail.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <ios>
#include <iterator>

namespace expc::engine {

std::string logTail(const std::string& path) {
  constexpr std::streamoff kBytes = 4096;
  constexpr int kLines = 20;
  // A program may have put something else in the place of a file in its folder: a pipe would never be read to its end.
  std::error_code failed;
  if (!std::filesystem::is_regular_file(std::filesystem::symlink_status(path, failed))) return "";
  std::ifstream in(path, std::ios::binary);
  in.seekg(0, std::ios::end);
  std::streamoff size = in.tellg();
  if (size <= 0) return "";
  in.seekg(std::max<std::streamoff>(0, size - kBytes));
  std::string text((std::istreambuf_iterator<char>(in)), {});
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  size_t begin = text.size();
  for (int line = 0; line < kLines && begin != std::string::npos && begin > 0; ++line)
    begin = text.rfind('\n', begin - 1);
  if (begin != std::string::npos && begin > 0) text.erase(0, begin + 1);
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f; }, '?');
  return text;
}

}  // namespace expc::engine
