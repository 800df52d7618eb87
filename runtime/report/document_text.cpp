// Renders a document for a terminal of a given width. Tables are the difficult part: columns are aligned by display
// width (not bytes), a last column of prose is wrapped, and a table that is still too wide is cut into several that
// repeat the labels. Only styles and titles are coloured, and all text passes through printable(), since names may hold
// control characters.

#include <llvm/ADT/StringExtras.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/format.h"
#include "runtime/base/llvm.h"
#include "runtime/report/document.h"
#include "runtime/report/paint.h"

namespace expc::report {
namespace {

/// Indentation of a part without a title: it belongs to the block above.
constexpr unsigned kBelow = 6;

/// Blanks between columns.
constexpr unsigned kGap = 2;
/// A prose column is not made narrower than this; the table grows over the width instead.
constexpr unsigned kMinProse = 24;

/// A column as text: its heading, then its cell of each row, which may have several lines ('\n').
struct TextColumn {
  Column::Kind kind;
  std::vector<std::string> cells;
  unsigned width = 0;
};

/// Returns the columns that a terminal shows. `separator` stands between a cell's text and the smaller texts that
/// belong to it: a blank or a line break.
std::vector<TextColumn> textColumns(const Table& table, std::string_view separator) {
  std::vector<TextColumn> columns;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    const Column& column = table.columns[i];
    if (column.shown == Shown::OnPage) continue;
    TextColumn& text = columns.emplace_back(TextColumn{column.kind, {printable(table.heading(column))}});
    for (size_t r = 0; r < table.rows.size() && r < table.most; ++r) {
      const Cell& cell = table.rows[r].cells[i];
      std::string words = printable(cell.text);
      for (const std::string& below : cell.below) words.append(separator) += printable(below);
      text.cells.push_back(column.widest ? elided(words, column.widest) : words);
    }
    for (const std::string& cell : text.cells)
      for (const StringRef line : llvm::split(cell, '\n')) text.width = std::max(text.width, displayWidth(line));
  }
  return columns;
}

/// Returns the width of the columns without any wrapping, indentation included.
unsigned naturalWidth(std::span<const TextColumn> columns, unsigned indent) {
  unsigned total = indent;
  for (const TextColumn& one : columns) total += one.width + kGap;
  return total - kGap;
}

/// Appends a row: as many lines as its highest cell has. Numbers are right-aligned. Row 0 is the heading.
void addRow(const std::vector<const TextColumn*>& columns, size_t row, unsigned indent, const Paint& paint,
            std::string& out) {
  std::vector<std::string> left;  // what is still to be shown of each column
  for (const TextColumn* one : columns)
    left.push_back(one->kind == Column::Kind::Prose ? wrapped(one->cells[row], one->width, 0) : one->cells[row]);
  do {
    std::string line;
    for (size_t i = 0; i < columns.size(); ++i) {
      const size_t end = std::min(left[i].find('\n'), left[i].size());
      const std::string text = left[i].substr(0, end);
      left[i].erase(0, end + 1);
      // Padding counts display columns: '中' takes two and 'é' one.
      const std::string pad(columns[i]->width - std::min(columns[i]->width, displayWidth(text)), ' ');
      if (i > 0) line.append(kGap, ' ');
      line += columns[i]->kind == Column::Kind::Number ? pad + text : text + pad;
    }
    // No blanks at the end of a line, which copying would keep.
    line.resize(StringRef(line).rtrim(' ').size());
    out.append(line.empty() ? 0 : indent, ' ') += (row == 0 ? paint.faint(line) : line) + '\n';
  } while (std::ranges::any_of(left, [](const std::string& text) { return !text.empty(); }));
}

/// Renders a table. If it is too wide, it is cut into several that repeat the label columns; a last column of prose is
/// wrapped first, down to kMinProse.
std::string tableText(std::vector<TextColumn> columns, unsigned width, unsigned indent, const Paint& paint) {
  const size_t labels = std::ranges::count(columns, Column::Kind::Label, &TextColumn::kind);
  const unsigned label_width = naturalWidth(std::span(columns).first(labels), indent) + kGap;
  TextColumn& last = columns.back();
  const unsigned uncut = last.width, others = naturalWidth(columns, indent) - uncut;
  const bool prose = last.kind == Column::Kind::Prose;
  if (prose) last.width = std::min(uncut, std::max(width > others ? width - others : 0, kMinProse));
  // Each turn of the loop makes one of these tables: the labels, then as many further columns as fit.
  std::string out;
  for (size_t next = labels; next < columns.size() || out.empty();) {
    std::vector<const TextColumn*> part;
    for (size_t i = 0; i < labels; ++i) part.push_back(&columns[i]);
    const bool goes_on = next > labels;
    // At least one column in each part, however wide.
    for (unsigned used = label_width; next < columns.size(); used += columns[next++].width + kGap) {
      if (part.size() > labels && used + columns[next].width > width) break;
      part.push_back(&columns[next]);
    }
    // Prose that has a part for itself has its whole width.
    if (prose && part.size() == labels + 1 && part.back() == &last)
      last.width = std::max(last.width, std::min(uncut, width - std::min(width, label_width)));
    if (goes_on) out += '\n';
    for (size_t row = 0; row < last.cells.size(); ++row) {
      const auto empty = [&](const TextColumn* one) { return one->cells[row].empty(); };
      // A row that goes on with nothing is whole already.
      if (row == 0 || !goes_on || !std::all_of(part.begin() + ptrdiff_t(labels), part.end(), empty))
        addRow(part, row, indent, paint, out);
    }
  }
  return out;
}

/// Appends blocks as text; `indent` grows with the nesting of parts.
class TextRenderer {
 public:
  TextRenderer(unsigned width, bool colour) : paint_(colour), width_(width) {}

  void show(const std::vector<Block>& blocks, unsigned indent) {
    for (const Block& block : blocks)
      std::visit([&](const auto& one) { show(one, indent); }, static_cast<const Block::variant&>(block));
  }
  std::string text() { return std::move(out_); }

 private:
  /// Appends wrapped text; lines after the first are indented by `hanging` more.
  void line(std::string_view text, unsigned indent, unsigned hanging) {
    out_.append(indent, ' ') += wrapped(text, width_ - std::min(width_, indent), hanging) + '\n';
  }

  /// Appends a heading, with its remark on the same line if that fits.
  void section(std::string_view title, std::string_view rest) {
    out_ += '\n' + paint_.bold(title);
    // A long remark goes below its title, indented.
    const bool fits = displayWidth(title) + 2 + displayWidth(rest) <= width_;
    if (!rest.empty() && fits) out_ += "  " + paint_.faint(rest);
    out_ += '\n';
    if (!fits) line(paint_.faint(rest), 2, 2);
  }

  void show(const Paragraph& paragraph, unsigned indent) {
    if (paragraph.shown == Shown::OnPage) return;
    if (paragraph.apart) out_ += '\n';
    const std::string word = printable(paragraph.word);
    const bool joins = !paragraph.of.empty() && !paragraph.text.empty();
    std::string rest = paint_.bold(printable(paragraph.of)) + (joins ? ": " : "") + printable(paragraph.text);
    std::string front = (paint_.*Paint::of(paragraph.style))(word);
    if ((!word.empty() || paragraph.room > 0) && !rest.empty())
      front.append(std::max(1u, paragraph.room - std::min(paragraph.room, displayWidth(word))), ' ');
    // A sentence at the top level is not an item of a list, so its further lines are not indented.
    const bool running = indent == 0 && (word.empty() || paragraph.tone == Tone::Plain);
    const unsigned hanging = paragraph.depth > 0 ? 2 : running ? 0 : 4;
    indent += 4 * paragraph.depth;
    if (!paragraph.whole && paragraph.room == 0) return line(front + rest, indent, indent + hanging);
    // With a room for the word, the rest is a column of its own beside it. A whole line is never wrapped: it is a
    // command or path to copy.
    const unsigned left = indent + paragraph.room;
    if (!paragraph.whole) rest = wrapped(rest, width_ - std::min(width_, left), 0);
    out_.append(indent, ' ') += front;
    for (const char c : rest) out_.append(1, c).append(c == '\n' ? left : 0, ' ');
    out_ += '\n';
  }

  void show(const Facts& facts, unsigned indent) {
    for (const Fact& one : facts.facts)
      show(Paragraph{.text = one.text, .word = one.label, .style = one.style == "warns" ? "open" : "none", .room = 13},
           indent);
  }

  void show(const Table& table, unsigned indent) {
    if (table.rows.empty()) return;
    std::vector<TextColumn> columns = textColumns(table, " ");
    if (columns.empty()) return;
    // On one line if that fits, else what is below stands below.
    const bool stacked =
        std::ranges::any_of(table.rows, [](const Row& row) { return std::ranges::any_of(row.cells, &Cell::hasBelow); });
    if (stacked && naturalWidth(columns, indent) > width_) columns = textColumns(table, "\n");
    // The first cell of a column is its heading.
    const size_t shown = columns.front().cells.size() - 1;
    out_ += tableText(std::move(columns), width_, indent, paint_);
    if (table.all > shown)
      line(fmt::format("… and {} more{}", table.all - shown, framed("; ", table.rest)), indent, indent);
  }

  void show(const Figures&, unsigned) {}

  void show(const Part& part, unsigned indent) {
    if (part.shown == Shown::OnPage) return;
    if (part.titled_on_page) return show(part.blocks, indent);
    if (part.title.empty()) return show(part.blocks, indent + kBelow);
    const std::string title = printable(part.title), rest = printable(part.about());
    if (indent > 0)
      line(paint_.bold(title) + framed(": ", rest), indent, indent + 2);
    else
      section(title, rest);
    // A title without content would look like an error.
    if (part.blocks.empty()) line("nothing to show", indent + 2, indent + 4);
    show(part.blocks, indent + 2);
  }

  const Paint paint_;
  const unsigned width_;
  std::string out_;
};

}  // namespace

std::string fewOf(std::vector<std::string> texts, size_t most, std::string_view separator) {
  const size_t more = texts.size() > most + 1 ? texts.size() - most : 0;
  texts.resize(texts.size() - more);
  return joined(texts, separator) + (more ? fmt::format(" and {} more", more) : "");
}

void shorten(std::vector<Block>& blocks, size_t most, const Paragraph& like, const std::string& rest) {
  if (blocks.size() <= most + 1) return;
  Paragraph last = like;
  last.text = fmt::format("… and {} more{}", blocks.size() - most, rest);
  blocks.resize(most);
  blocks.emplace_back(std::move(last));
}

std::string documentText(const std::vector<Block>& blocks, unsigned width, bool colour) {
  TextRenderer renderer(width, colour);
  renderer.show(blocks, 0);
  return renderer.text();
}

}  // namespace expc::report
