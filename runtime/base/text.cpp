#include "runtime/base/text.h"

#include <fmt/ranges.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/Unicode.h>

#include <algorithm>

#include "runtime/base/format.h"
#include "runtime/base/llvm.h"

namespace expc::base {

/// A negative width means control characters or bytes that are not UTF-8; then bytes are counted.
unsigned displayWidth(std::string_view text) {
  // Colours take no columns, and their codes are no printable text.
  if (const size_t code = text.find("\x1b["); code != std::string_view::npos)
    if (const size_t end = text.find('m', code); end != std::string_view::npos)
      return displayWidth(text.substr(0, code)) + displayWidth(text.substr(end + 1));
  const int width = llvm::sys::unicode::columnWidthUTF8(StringRef(text));
  return width < 0 ? unsigned(text.size()) : unsigned(width);
}

std::string wrapped(std::string_view text, unsigned width, unsigned indent) {
  std::string out;
  unsigned column = 0;
  for (size_t start = 0; start < text.size();) {
    if (text[start] == ' ') {
      ++start;
      continue;
    }
    size_t end = std::min(text.find(' ', start), text.size());
    // A number is not separated from its per cent sign.
    if (text.substr(end, 2) == " %") end = std::min(text.find(' ', end + 1), text.size());
    const std::string_view word = text.substr(start, end - start);
    const unsigned word_width = displayWidth(word);
    if (column > 0 && column + 1 + word_width > width) {
      out += '\n';
      out.append(indent, ' ');
      column = indent;
    } else if (column > 0) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word_width;
    start = end;
  }
  return out;
}

std::string elided(const std::string& text, unsigned width) {
  if (displayWidth(text) <= width || text.size() <= width) return text;
  // Most such texts are ASCII names. In others, a cut moves to the beginning of a character.
  const auto starts = [&](size_t at) {
    return at >= text.size() || (static_cast<unsigned char>(text[at]) & 0xc0) != 0x80;
  };
  size_t head = (width - 1) / 2, tail = text.size() - (width - 1 - head);
  while (!starts(head)) --head;
  while (!starts(tail)) ++tail;
  return text.substr(0, head) + "…" + text.substr(tail);
}

std::string framed(std::string_view before, std::string_view text, std::string_view after) {
  return text.empty() ? "" : fmt::format("{}{}{}", before, text, after);
}

std::string counted(uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : noun.ends_with('s') ? "es" : "s");
}

std::string shellWord(std::string_view word) {
  const auto plain = [](char c) { return llvm::isAlnum(c) || StringRef("._-/=:,+@%").contains(c); };
  if (!word.empty() && std::ranges::all_of(word, plain)) return std::string(word);
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::string joined(const std::vector<std::string>& texts, std::string_view separator) {
  return fmt::format("{}", fmt::join(texts, separator));
}

std::string firstOf(std::vector<std::string> texts, size_t most) {
  if (texts.size() > most) {
    texts.resize(most);
    texts.emplace_back("…");
  }
  return joined(texts);
}

std::string listed(std::vector<std::string> texts) {
  if (texts.size() < 2) return joined(texts);
  const std::string last = std::move(texts.back());
  texts.pop_back();
  return fmt::format("{} and {}", joined(texts), last);
}

}  // namespace expc::base
