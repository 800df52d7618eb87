#include "runtime/report/document_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/report/layout.h"

namespace expc::report {
namespace {

/// What belongs to the one above stands so much further in.
constexpr unsigned kBelow = 6;

TextTable textTable(const Table& table, const std::string& separator) {
  using Kind = Column::Kind;
  TextTable text{.rows = std::vector<std::vector<std::string>>(1 + std::min(table.rows.size(), table.most)),
                 .labels = 0};
  for (size_t i = 0; i < table.columns.size(); ++i) {
    const Column& column = table.columns[i];
    if (column.shown == Shown::OnPage) continue;
    if (column.kind == Kind::Words) text.words.push_back(text.rows[0].size());
    text.labels += column.kind == Kind::Label;
    text.prose = column.kind == Kind::Prose;
    text.rows[0].push_back(printable(table.heading(column)));
    for (size_t r = 1; r < text.rows.size(); ++r) {
      const Cell& cell = table.rows[r - 1].cells[i];
      std::string words = printable(cell.text);
      for (const std::string& below : cell.below) words += separator + printable(below);
      text.rows[r].push_back(column.widest ? elided(words, column.widest) : words);
    }
  }
  return text;
}

class TextRenderer {
 public:
  TextRenderer(unsigned width, bool colour) : paint_(colour), width_(width) {}

  void show(const std::vector<Block>& blocks, unsigned indent) {
    for (const Block& block : blocks)
      std::visit([&](const auto& one) { show(one, indent); }, static_cast<const Block::variant&>(block));
  }
  std::string text() { return std::move(out_); }

 private:
  void line(std::string_view text, unsigned indent, unsigned hanging) {
    out_.append(indent, ' ') += wrapped(text, width_ - std::min(width_, indent), hanging) + '\n';
  }

  void section(std::string_view title, std::string_view rest) {
    out_ += '\n' + paint_.bold(title);
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
    if (!word.empty() && !rest.empty())
      front.append(std::max(1u, paragraph.room - std::min(paragraph.room, displayWidth(word))), ' ');
    // What stands alone is no item of a list.
    const unsigned hanging = paragraph.depth > 0 ? 2 : indent == 0 && word.empty() ? 0 : 4;
    indent += 4 * paragraph.depth;
    if (!paragraph.whole && paragraph.room == 0) return line(front + rest, indent, indent + hanging);
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
    TextTable text = textTable(table, " ");
    // On one line if that fits, else what is below stands below.
    const bool stacked =
        std::ranges::any_of(table.rows, [](const Row& row) { return std::ranges::any_of(row.cells, &Cell::hasBelow); });
    if (stacked && text.naturalWidth(indent) > width_) text = textTable(table, "\n");
    out_ += text.render(width_, indent, paint_);
    if (const size_t shown = text.rows.size() - 1; table.all > shown)
      line(fmt::format("… and {} more{}", table.all - shown, table.rest.empty() ? "" : "; " + table.rest), indent,
           indent);
  }

  void show(const Figures&, unsigned) {}

  void show(const Part& part, unsigned indent) {
    if (part.shown == Shown::OnPage) return;
    if (part.titled_on_page) return show(part.blocks, indent);
    if (part.title.empty()) return show(part.blocks, indent + kBelow);
    const std::string title = printable(part.title), rest = printable(part.about());
    if (indent > 0)
      line(paint_.bold(title) + (rest.empty() ? "" : ": " + rest), indent, indent + 2);
    else
      section(title, rest);
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
