#include "compiler/diag/columns.h"

#include <llvm/Support/ConvertUTF.h>
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

/// Calls `visit(written, shown, width)` for each character.
template <typename Visit>
void forEachCharacter(std::string_view text, Visit visit) {
  for (size_t at = 0; at < text.size();) {
    const auto* begin = reinterpret_cast<const llvm::UTF8*>(text.data() + at);
    const auto* past = begin;
    llvm::UTF32 code = 0;
    const auto read = llvm::convertUTF8Sequence(&past, begin + (text.size() - at), &code, llvm::strictConversion);
    const std::string_view sequence = text.substr(at, std::max<size_t>(past - begin, 1));
    if (read != llvm::conversionOK || (isControl(code) && code != '\t') || isBidirectional(code)) {
      visit(sequence, kReplacement, 1u);
    } else {
      int width = llvm::sys::unicode::columnWidthUTF8(llvm::StringRef(sequence.data(), sequence.size()));
      visit(sequence, sequence, static_cast<uint32_t>(std::max(width, 0)));
    }
    at += sequence.size();
  }
}

}  // namespace

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
