#include "runtime/plan/printable.h"

#include <fmt/format.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/JSON.h>

#include <cstddef>
#include <iterator>

namespace expc::plan {
namespace {

/// What turns the order of the text behind it, or ends its line: U+2028 to U+202E, U+2066 to U+2069.
bool turnsText(llvm::StringRef at) {
  return (at.starts_with("\xe2\x80") && at.substr(2, 1) >= "\xa8" && at.substr(2, 1) <= "\xae") ||
         (at.starts_with("\xe2\x81") && at.substr(2, 1) >= "\xa6" && at.substr(2, 1) <= "\xa9");
}

}  // namespace

std::string printable(std::string_view text) {
  std::string safe = llvm::json::isUTF8(text) ? std::string(text) : llvm::json::fixUTF8(text);
  std::string out;
  for (size_t i = 0; i < safe.size(); ++i) {
    const auto byte = static_cast<unsigned char>(safe[i]);
    if (byte == '\n' || byte == '\t' || byte == '\r') {
      out += ' ';
    } else if (byte < 0x20 || byte == 0x7f) {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", byte);
    } else if (byte == 0xc2 && i + 1 < safe.size() && static_cast<unsigned char>(safe[i + 1]) < 0xa0) {
      // C1 controls: some terminals take U+009B for an escape sequence.
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(safe[++i]));
    } else if (turnsText(llvm::StringRef(safe).substr(i))) {
      fmt::format_to(std::back_inserter(out), "\\u20{:02x}", (safe[i + 1] & 1) << 6 | (safe[i + 2] & 0x3f));
      i += 2;
    } else {
      out += safe[i];
    }
  }
  return out;
}

std::string printableLines(std::string_view text) {
  std::string out;
  for (llvm::StringRef rest = text; !rest.empty();) {
    const size_t end = rest.find('\n');
    out += printable(rest.take_front(end));
    if (end != llvm::StringRef::npos) out += '\n';
    rest = rest.drop_front(end == llvm::StringRef::npos ? rest.size() : end + 1);
  }
  return out;
}

void tell(std::FILE* out, std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), out);
  std::fflush(out);
  clearerr(out);
}

}  // namespace expc::plan
