#include "runtime/base/printable.h"

#include <llvm/Support/JSON.h>

#include <cstddef>
#include <iterator>

#include "runtime/base/format.h"
#include "runtime/base/llvm.h"

namespace expc::base {
namespace {

/// The code of a control character that begins here and that JSON lets pass; 0 if there is none. These are U+007F
/// to U+009F, some of which terminals take for an escape, and the characters that end a line or turn the order of
/// text (U+2028 to U+202E, U+2066 to U+2069).
unsigned controlAt(StringRef text) {
  const auto byte = [&](size_t at) { return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U; };
  if (byte(0) == 0x7f) return 0x7f;
  if (byte(0) == 0xc2 && byte(1) < 0xa0) return byte(1);
  const unsigned code = byte(0) == 0xe2 ? 0x2000 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f) : 0;
  return code == 0x200e || code == 0x200f || (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069)
             ? code
             : 0;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string safe = json::isUTF8(text) ? std::string(text) : json::fixUTF8(text);
  std::string out;
  for (size_t i = 0; i < safe.size(); ++i) {
    const auto byte = static_cast<unsigned char>(safe[i]);
    if (byte == '\n' || byte == '\t' || byte == '\r') {
      out += ' ';
    } else if (byte < 0x20) {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", byte);
    } else if (const unsigned code = controlAt(StringRef(safe).substr(i))) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", code);
      // Skips the rest of the character: two bytes below U+0800, else three.
      i += (code > 0x7f) + (code > 0x7ff);
    } else {
      out += safe[i];
    }
  }
  return out;
}

std::string printableLines(std::string_view text) {
  std::string out;
  for (StringRef rest = text; !rest.empty();) {
    const size_t end = rest.find('\n');
    out += printable(rest.take_front(end));
    if (end != StringRef::npos) out += '\n';
    rest = rest.drop_front(end == StringRef::npos ? rest.size() : end + 1);
  }
  return out;
}

void tell(std::FILE* out, std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), out);
  std::fflush(out);
  clearerr(out);
}

}  // namespace expc::base
