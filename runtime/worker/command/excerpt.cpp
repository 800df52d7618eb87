#include "runtime/worker/command/excerpt.h"

#include <llvm/Support/JSON.h>

#include <algorithm>

namespace expc::command {

std::string excerpt(llvm::StringRef text, size_t most) {
  std::string result = text.take_front(most).str();
  std::replace_if(result.begin(), result.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  if (!llvm::json::isUTF8(result)) result = llvm::json::fixUTF8(result);
  return text.size() > most ? result + "..." : result;
}

std::string lastLine(llvm::StringRef text) {
  const llvm::StringRef trimmed = text.rtrim();
  const size_t begin = trimmed.find_last_of("\r\n");
  return excerpt(begin == llvm::StringRef::npos ? trimmed : trimmed.drop_front(begin + 1), 200);
}

}  // namespace expc::command
