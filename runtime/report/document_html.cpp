// Renders a document as markup of the report page. All text passes through html() or htmlProse(); classes are those of
// assets/report.css. The markup works without scripts, on narrow screens (a row becomes a card) and for screen readers
// (labels, scopes, groups).

#include <algorithm>

#include "runtime/base/format.h"
#include "runtime/report/document.h"
#include "runtime/report/html_parts.h"
#include "runtime/report/html_text.h"
#include "runtime/report/paint.h"

namespace expc::report {
namespace {

using Kind = Column::Kind;

/// Returns ` name="value"`, escaped; "" for an empty value.
std::string attribute(std::string_view name, std::string_view value) {
  return value.empty() ? "" : fmt::format(" {}=\"{}\"", name, html(value));
}

/// Wraps markup that may be wider than the screen in a scrolling box with a label. The page's script makes the box a
/// stop for the keyboard, but only while there is something to scroll.
std::string scrolled(std::string_view inner, std::string_view label) {
  return fmt::format("<div class=\"scroll\" role=\"group\"{}>{}</div>", attribute("aria-label", label), inner);
}

/// Puts markup behind a title that readers open. `title` is text, `body` is markup.
std::string folded(const std::string& title, const std::string& body) {
  return "<details><summary>" + html(title) + "</summary>" + body + "</details>\n";
}

/// Returns the content of a cell: its text, then smaller texts below it.
std::string cellInner(const Cell& cell, Kind kind) {
  std::string inner = kind == Kind::Drawing ? cell.text : kind == Kind::Prose ? htmlProse(cell.text) : html(cell.text);
  if (cell.tone == Tone::Strong) inner = "<b>" + inner + "</b>";
  // `more` belongs to the first small line, which a text shows without it.
  const std::string first = (cell.below.empty() ? "" : cell.below.front()) + cell.more;
  if (!first.empty()) inner += "<small>" + html(first) + "</small>";
  for (size_t i = 1; i < cell.below.size(); ++i) inner += "<small>" + html(cell.below[i]) + "</small>";
  return inner;
}

/// A narrow screen shows each row as a card whose values stand behind the names of their columns, which is why each
/// cell knows its column.
std::string cellMarkup(const Table& table, const Row& row, size_t i) {
  const Column& column = table.columns[i];
  const Cell& cell = row.cells[i];
  const std::string inner = cellInner(cell, column.kind);
  if (column.kind == Kind::Label)
    return fmt::format("<th scope=\"row\"{}>{}</th>", attribute("data-label", column.name), inner);
  // The classes steer alignment and colour alone; meaning never depends on colour, since the words stand there, too.
  std::vector<std::string> classes;
  if (column.kind == Kind::Number) classes.emplace_back("num");
  if (column.kind == Kind::Drawing) classes.emplace_back("drawing");
  if (column.kind == Kind::Words && !row.style.empty()) classes.emplace_back("word " + std::string(row.style));
  if (cell.tone == Tone::Quiet) classes.emplace_back("quiet");
  return fmt::format("<td{}{}>{}</td>", attribute("class", joined(classes, " ")),
                     column.kind == Kind::Drawing ? "" : attribute("data-label", table.heading(column)), inner);
}

/// Returns a paragraph's content: the word in front, the subject in bold, the text about it.
std::string sentence(const Paragraph& one) {
  const std::string of = one.of.empty() ? "" : "<b>" + html(one.of) + "</b>" + (one.text.empty() ? "" : ": ");
  return html(one.word) + (one.word.empty() ? "" : " ") + of + htmlProse(one.text);
}

/// Renders one block. Blocks for texts only give nothing.
class PageRenderer {
 public:
  std::string operator()(const Paragraph& paragraph) const {
    if (paragraph.shown == Shown::InText) return "";
    // A failed trial has its log behind it, closed.
    if (paragraph.log)
      return fmt::format("<details class=\"failure\"><summary>{}</summary>{}</details>", sentence(paragraph),
                         paragraph.log->empty() ? "<p class=\"quiet\">It wrote no log.</p>"
                                                : "<pre>" + html(*paragraph.log) + "</pre>");
    // A word in front is a warning here; verdicts have badges instead.
    if (!paragraph.word.empty())
      return fmt::format("<p class=\"caution\"><b>{}</b> {}.</p>", html(capitalised(paragraph.word)),
                         htmlProse(paragraph.text));
    return fmt::format("<p{}>{}</p>", paragraph.tone == Tone::Quiet ? " class=\"quiet\"" : "", sentence(paragraph));
  }

  /// A list of terms; commands stay whole where a line breaks.
  std::string operator()(const Facts& facts) const {
    std::string out;
    for (const Fact& one : facts.facts)
      out += fmt::format("<div><dt>{}</dt><dd{}>{}</dd></div>", html(one.label), attribute("class", one.style),
                         one.code ? "<code>" + htmlCommand(one.text) + "</code>" : htmlProse(one.text));
    return out.empty() ? "" : fmt::format("<dl class=\"{}\">{}</dl>", facts.style, out);
  }

  /// A table for a wide screen and, by its data-label attributes, for a narrow one.
  std::string operator()(const Table& table) const {
    std::string heads, rows;
    size_t columns = 0;
    for (const Column& column : table.columns) {
      if (column.shown == Shown::InText) continue;
      ++columns;
      heads += fmt::format("<th scope=\"col\"{}>{}</th>",
                           column.kind == Kind::Number    ? " class=\"num\""
                           : column.kind == Kind::Drawing ? " class=\"drawing\""
                                                          : "",
                           html(column.name));
    }
    for (const Row& row : table.rows) {
      rows += "<tr" + attribute("class", row.style) + ">";
      for (size_t i = 0; i < row.cells.size(); ++i)
        if (table.columns[i].shown != Shown::InText) rows += cellMarkup(table, row, i);
      rows += "</tr>";
    }
    // A table without rows gives no markup, so that a section without content is left out.
    if (rows.empty()) return "";
    std::string above, foot;
    // The factor over the columns has a heading row of its own.
    if (const size_t labels = table.labels(); !table.over.empty())
      above = fmt::format("<tr>{}<th scope=\"colgroup\" class=\"num\" colspan=\"{}\">{}</th></tr>",
                          labels ? fmt::format("<td colspan=\"{}\"></td>", labels) : "", columns - labels,
                          html(table.over));
    // The drawing's scale stands below the last column.
    if (!table.foot.empty())
      foot = fmt::format("<tfoot><tr><td colspan=\"{}\"></td><td class=\"drawing\">{}</td></tr></tfoot>", columns - 1,
                         table.foot);
    std::string out =
        scrolled(fmt::format("<table class=\"{}\"><thead>{}<tr>{}</tr></thead><tbody>{}</tbody>{}</table>", table.style,
                             above, heads, rows, foot),
                 table.label);
    if (table.all > table.rows.size())
      out += fmt::format("<p class=\"quiet\">The first {} of {}; the data at the end of the page has all.</p>",
                         table.rows.size(), counted(table.all, table.one_row));
    return out;
  }

  /// Charts are markup already.
  std::string operator()(const Figures& figures) const { return figures.markup; }

  /// A folded part is a <details>; a part with badges is the card of a criterion, which links lead to.
  std::string operator()(const Part& part) const {
    std::string body = pageMarkup(part.blocks);
    if (part.folded) return folded(part.title + framed(": ", part.about()), body);
    if (!part.rest.empty()) body = (*this)(Paragraph{part.rest}) + body;
    if (!part.law.empty()) body = "<p class=\"law\"><code>" + html(part.law) + "</code></p>" + body;
    if (part.badges.empty())
      return fmt::format("<article class=\"measure\"><h3>{}</h3>{}</article>\n", html(part.title), body);
    return fmt::format("<article class=\"claim {0}\" id=\"claim-{1}\"><header>{2}<h3>{1}</h3></header>{3}</article>\n",
                       part.badges[0].style, html(part.title), badgesMarkup(part.badges), body);
  }
};

}  // namespace

std::string pageMarkup(const Block& block) {
  return std::visit(PageRenderer(), static_cast<const Block::variant&>(block));
}

std::string pageMarkup(const std::vector<Block>& blocks) {
  std::string out;
  for (const Block& block : blocks) out += pageMarkup(block);
  return out;
}

std::string badgesMarkup(const std::vector<Badge>& badges) {
  std::string out;
  for (const Badge& one : badges)
    out += fmt::format("{}<span class=\"badge {}\"><span aria-hidden=\"true\">{}</span> {}</span>",
                       out.empty() ? "" : " ", one.style, one.sign, html(one.word));
  return out;
}

}  // namespace expc::report
