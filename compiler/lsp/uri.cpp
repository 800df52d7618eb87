#include "compiler/lsp/uri.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/Path.h>

#include <algorithm>

namespace expc::lsp {

std::optional<std::string> pathOf(std::string_view uri) {
  llvm::StringRef rest(uri);
  if (!rest.consume_front_insensitive("file://")) return std::nullopt;
  rest = rest.drop_front(std::min(rest.find('/'), rest.size()));  // a host names this machine
  if (rest.empty()) return std::nullopt;
  std::string path;
  for (size_t at = 0; at < rest.size(); ++at) {
    unsigned byte = 0;
    if (rest[at] == '%' && at + 2 < rest.size() && !rest.substr(at + 1, 2).getAsInteger(16, byte)) {
      path += static_cast<char>(byte);
      at += 2;
    } else {
      path += rest[at];
    }
  }
  if (path.find('\0') != std::string::npos) return std::nullopt;
  llvm::SmallString<128> result{llvm::StringRef(path)};
  llvm::sys::path::remove_dots(result, /*remove_dot_dot=*/true);
  return std::string(result.str());
}

std::string uriOf(std::string_view path) {
  static constexpr std::string_view kPlain = "/-._~:@!$&'()*+,;=";
  std::string uri = "file://";
  for (const char byte : path) {
    if (llvm::isAlnum(byte) || kPlain.find(byte) != std::string_view::npos) {
      uri += byte;
    } else {
      uri += '%';
      uri += llvm::hexdigit(static_cast<unsigned char>(byte) >> 4);
      uri += llvm::hexdigit(static_cast<unsigned char>(byte) & 15);
    }
  }
  return uri;
}

}  // namespace expc::lsp
