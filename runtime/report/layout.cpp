#include "runtime/report/layout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/JSON.h>
#include <llvm/Support/Unicode.h>

#include <algorithm>
#include <iterator>

namespace expc::report {
namespace {

constexpr unsigned kGap = 2;
/// A prose column is not made narrower than this; the table grows over the width instead.
constexpr unsigned kMinProse = 24;

llvm::SmallVector<llvm::StringRef> linesOf(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef> lines;
  text.split(lines, '\n');
  return lines;
}

unsigned cellWidth(std::string_view text) {
  unsigned width = 0;
  for (const llvm::StringRef line : linesOf(text)) width = std::max(width, displayWidth(line));
  return width;
}

}  // namespace

unsigned displayWidth(std::string_view text) {
  const int width = llvm::sys::unicode::columnWidthUTF8(llvm::StringRef(text));
  return width < 0 ? static_cast<unsigned>(text.size()) : static_cast<unsigned>(width);
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
    // A number keeps its per cent.
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
  // Names are ASCII; where they are not, whole characters are kept.
  const auto starts = [&](size_t at) {
    return at >= text.size() || (static_cast<unsigned char>(text[at]) & 0xc0) != 0x80;
  };
  size_t head = (width - 1) / 2, tail = text.size() - (width - 1 - head);
  while (!starts(head)) --head;
  while (!starts(tail)) ++tail;
  return text.substr(0, head) + "…" + text.substr(tail);
}

std::string counted(uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string joined(const std::vector<std::string>& texts, std::string_view separator) {
  return fmt::format("{}", fmt::join(texts, separator));
}

std::string Paint::paint(std::string_view code, std::string_view text) const {
  return on_ && !text.empty() ? fmt::format("\033[{}m{}\033[0m", code, text) : std::string(text);
}

Paint::Brush Paint::of(std::string_view style) {
  return style == "pass"   ? &Paint::green
         : style == "fail" ? &Paint::red
         : style == "none" ? &Paint::faint
         : style.empty()   ? &Paint::plain
                           : &Paint::yellow;
}

std::vector<unsigned> TextTable::widths() const {
  std::vector<unsigned> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], cellWidth(row[i]));
  }
  return widths;
}

unsigned TextTable::naturalWidth(unsigned indent) const {
  unsigned total = indent;
  for (const unsigned width : widths()) total += width + kGap;
  return total - kGap;
}

std::string TextTable::renderColumns(const std::vector<unsigned>& widths, const std::vector<size_t>& columns,
                                     unsigned indent, const Paint& paint) const {
  std::string out;
  for (size_t r = 0; r < rows.size(); ++r) {
    // A row that goes on with nothing is whole already.
    if (r > 0 && columns.size() > labels && columns[labels] > labels &&
        std::all_of(columns.begin() + labels, columns.end(),
                    [&](size_t c) { return c >= rows[r].size() || rows[r][c].empty(); }))
      continue;
    // Prose is wrapped to its column first, so that every cell is a list of lines.
    std::vector<std::string> texts;
    size_t height = 1;
    for (const size_t c : columns) {
      std::string text = c < rows[r].size() ? rows[r][c] : "";
      if (prose && c + 1 == widths.size()) text = wrapped(text, widths[c], 0);
      height = std::max(height, linesOf(text).size());
      texts.push_back(std::move(text));
    }
    for (size_t line = 0; line < height; ++line) {
      std::string row(indent, ' ');
      for (size_t i = 0; i < columns.size(); ++i) {
        const auto lines = linesOf(texts[i]);
        const llvm::StringRef text = line < lines.size() ? lines[line] : llvm::StringRef();
        const bool left = columns[i] < labels || (prose && columns[i] + 1 == widths.size()) ||
                          std::count(words.begin(), words.end(), columns[i]) > 0;
        const std::string pad(widths[columns[i]] - std::min(widths[columns[i]], displayWidth(text)), ' ');
        if (i) row.append(kGap, ' ');
        row += left ? text.str() + pad : pad + text.str();
      }
      row.resize(llvm::StringRef(row).rtrim(' ').size());
      if (r == 0) {
        const size_t text_at = std::min<size_t>(indent, row.size());
        row = row.substr(0, text_at) + paint.faint(std::string_view(row).substr(text_at));
      }
      out += row + '\n';
    }
  }
  return out;
}

std::string TextTable::render(unsigned width, unsigned indent, const Paint& paint) const {
  std::vector<unsigned> wide = widths();
  const unsigned uncut = wide.empty() ? 0 : wide.back();
  if (prose && !wide.empty()) {
    unsigned others = indent;
    for (size_t i = 0; i + 1 < wide.size(); ++i) others += wide[i] + kGap;
    const unsigned room = width > others ? width - others : 0;
    wide.back() = std::min(wide.back(), std::max(room, kMinProse));
  }
  std::vector<size_t> label_columns;
  unsigned label_width = indent;
  for (size_t i = 0; i < labels && i < wide.size(); ++i) {
    label_columns.push_back(i);
    label_width += wide[i] + kGap;
  }
  std::string out;
  for (size_t next = labels; next < wide.size() || out.empty();) {
    std::vector<size_t> columns = label_columns;
    unsigned used = label_width;
    // At least one column in each part, however wide.
    while (next < wide.size() && (columns.size() == labels || used + wide[next] <= width)) {
      used += wide[next] + kGap;
      columns.push_back(next++);
    }
    if (!out.empty()) out += '\n';
    // Prose that has a part for itself has its whole width.
    if (prose && columns.size() == labels + 1 && columns.back() + 1 == wide.size())
      wide.back() = std::max(wide.back(), std::min(uncut, width - std::min(width, label_width)));
    out += renderColumns(wide, columns, indent, paint);
  }
  return out;
}

}  // namespace expc::report
