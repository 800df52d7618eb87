#include "compiler/diag/columns.h"

#include <llvm/Support/Unicode.h>

#include <algorithm>

namespace expc::diag {

namespace {

constexpr uint32_t kTab = 4;
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool isControl(char32_t code) { return code < 0x20 || (code >= 0x7F && code < 0xA0); }
/// Marks that change the direction of what follows and would show another line than the one that was written.
bool isBidirectional(char32_t code) {
  return (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069) || code == 0x200E || code == 0x200F;
}

char32_t decode(std::string_view sequence) {
  auto byte = [&](size_t at) { return static_cast<unsigned char>(sequence[at]); };
  switch (sequence.size()) {
    case 1:
      return byte(0);
    case 2:
      return (byte(0) & 0x1Fu) << 6 | (byte(1) & 0x3Fu);
    case 3:
      return (byte(0) & 0x0Fu) << 12 | (byte(1) & 0x3Fu) << 6 | (byte(2) & 0x3Fu);
    default:
      return (byte(0) & 0x07u) << 18 | (byte(1) & 0x3Fu) << 12 | (byte(2) & 0x3Fu) << 6 | (byte(3) & 0x3Fu);
  }
}

/// Calls `visit(sequence, width)` for each character as it is shown; `sequence` is empty where a replacement stands.
template <typename Visit>
void forEachCharacter(std::string_view text, Visit visit) {
  for (size_t at = 0; at < text.size();) {
    unsigned length = utf8Length(text.substr(at));
    std::string_view sequence = text.substr(at, length ? length : 1);
    char32_t code = length ? decode(sequence) : 0;
    if (length == 0 || (isControl(code) && code != '\t') || isBidirectional(code)) {
      visit(sequence, kReplacement, 1u);
    } else {
      int width = llvm::sys::unicode::columnWidthUTF8(llvm::StringRef(sequence.data(), sequence.size()));
      visit(sequence, sequence, static_cast<uint32_t>(std::max(width, 0)));
    }
    at += sequence.size();
  }
}

}  // namespace

unsigned utf8Length(std::string_view text) {
  auto byte = [&](size_t at) { return static_cast<unsigned char>(text[at]); };
  unsigned char first = byte(0);
  unsigned length = first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
  if (length == 0 || text.size() < length) return 0;
  for (unsigned at = 1; at < length; ++at)
    if ((byte(at) & 0xC0) != 0x80) return 0;
  if (first == 0xE0 && byte(1) < 0xA0) return 0;  // overlong
  if (first == 0xED && byte(1) > 0x9F) return 0;  // surrogates
  if (first == 0xF0 && byte(1) < 0x90) return 0;  // overlong
  if (first == 0xF4 && byte(1) > 0x8F) return 0;  // past U+10FFFF
  return length;
}

DisplayLine displayLine(std::string_view line) {
  DisplayLine out;
  out.columns.reserve(line.size() + 1);
  uint32_t column = 0;
  forEachCharacter(line, [&](std::string_view written, std::string_view shown, uint32_t width) {
    out.columns.insert(out.columns.end(), written.size(), column);
    if (written == "\t") {
      width = kTab - column % kTab;
      out.text.append(width, ' ');
    } else {
      out.text.append(shown);
    }
    column += width;
  });
  out.columns.push_back(column);
  return out;
}

std::string printable(std::string_view text) {
  std::string out;
  forEachCharacter(text, [&](std::string_view written, std::string_view shown, uint32_t) {
    if (written == "\n" || written == "\t")
      out += ' ';
    else
      out.append(shown);
  });
  return out;
}

}  // namespace expc::diag
