#include "runtime/report/document_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace expc::report {
namespace {

TextTable textTable(const Table& table, const std::string& separator) {
  using Kind = Column::Kind;
  std::vector<std::string> header;
  std::vector<size_t> shown, words;
  unsigned labels = 0;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    const Column& column = table.columns[i];
    if (column.shown == Shown::OnPage) continue;
    if (column.kind == Kind::Words) words.push_back(shown.size());
    labels += column.kind == Kind::Label;
    shown.push_back(i);
    header.push_back(printable(table.heading(column)));
  }
  const bool prose = !shown.empty() && table.columns[shown.back()].kind == Kind::Prose;
  TextTable text(std::move(header), labels, prose);
  text.words(std::move(words));
  for (size_t r = 0; r < table.rows.size() && r < table.most; ++r) {
    std::vector<std::string> row;
    for (const size_t i : shown) {
      const Cell& cell = table.rows[r].cells[i];
      const unsigned widest = table.columns[i].widest;
      std::string words_of = printable(cell.text);
      for (const std::string& below : cell.below) words_of += separator + printable(below);
      row.push_back(widest ? elided(words_of, widest) : words_of);
    }
    text.add(std::move(row));
  }
  return text;
}

}  // namespace

void DocumentText::show(const std::vector<Block>& blocks, unsigned indent) {
  for (const Block& block : blocks) show(block, indent);
}

void DocumentText::show(const Block& block, unsigned indent) {
  std::visit([&](const auto& one) { show(one, indent); }, static_cast<const Block::variant&>(block));
}

void DocumentText::show(const Paragraph& paragraph, unsigned indent) {
  if (paragraph.shown == Shown::OnPage) return;
  const std::string warning = paragraph.warning.empty() ? "" : paint_.yellow(paragraph.warning + ":") + " ";
  line(warning + printable(paragraph.text), indent + (paragraph.under ? 4 : 0), indent + 4);
}

void DocumentText::show(const Described& described, unsigned indent) {
  section(described.title, described.rest);
  if (described.lines.empty()) line("nothing to show", indent + 2, indent + 4);
  for (const std::string& text : described.lines) line(printable(text), indent + 2, indent + 6);
}

void DocumentText::show(const Table& table, unsigned indent) {
  if (table.rows.empty()) return;
  TextTable text = textTable(table, " ");
  // On one line if that fits, else what is below stands below.
  const bool stacked =
      std::ranges::any_of(table.rows, [](const Row& row) { return std::ranges::any_of(row.cells, &Cell::hasBelow); });
  if (stacked && text.naturalWidth(indent) > width_) text = textTable(table, "\n");
  out_ += text.render(width_, indent, paint_);
  if (table.all > text.size())
    line(fmt::format("… and {} more{}", table.all - text.size(), table.rest.empty() ? "" : "; " + table.rest), indent,
         indent);
}

void DocumentText::show(const Figures&, unsigned) {}

void DocumentText::show(const Part& part, unsigned indent) {
  if (part.shown == Shown::OnPage) return;
  if (part.titled_on_page) return show(part.blocks, indent);
  const std::string title = printable(part.title), rest = printable(part.about());
  if (indent > 0)
    line(paint_.bold(title) + (rest.empty() ? "" : ": " + rest), indent, indent + 2);
  else
    section(title, rest);
  if (part.blocks.empty()) line("nothing to show", indent + 2, indent + 4);
  show(part.blocks, indent + 2);
}

std::string documentText(const std::vector<Block>& blocks, unsigned width, bool colour) {
  struct Writer : DocumentText {
    Writer(unsigned width, bool colour) : DocumentText(width, colour) {}
    std::string all(const std::vector<Block>& blocks) {
      show(blocks);
      return std::move(out_);
    }
  };
  return Writer(width, colour).all(blocks);
}

}  // namespace expc::report
