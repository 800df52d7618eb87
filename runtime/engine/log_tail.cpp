#include "runtime/engine/log_tail.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/files/files.h"

namespace expc::engine {

std::string logTail(const std::string& path) {
  constexpr uint64_t kBytes = 4096;
  constexpr int kLines = 20;
  std::string text = files::tail(path, kBytes);
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  size_t begin = text.size();
  for (int line = 0; line < kLines && begin != std::string::npos && begin > 0; ++line)
    begin = text.rfind('\n', begin - 1);
  if (begin != std::string::npos && begin > 0) text.erase(0, begin + 1);
  std::ranges::replace_if(text, [](unsigned char c) { return (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f; }, '?');
  return text;
}

}  // namespace expc::engine
