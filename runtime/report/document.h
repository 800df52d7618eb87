#pragma once

// The document model of reports: paragraphs, facts, tables, figures and parts. A section builds its blocks once; a
// terminal (document_text.cpp), the page (document_html.cpp) and Markdown (runtime/export/markdown.cpp) each render
// them in their own way. Texts in blocks are as people and machines wrote them: the renderer makes them safe for its
// medium.

#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace expc::report {

/// The most rows that a table holds: a page with more of them is slow to lay out, and its data has all of them. Rows
/// with drawings take longer.
inline constexpr size_t kMostRows = 500, kMostDrawn = 200;
/// The most rows that a terminal shows of something that was not asked for with `--all`, and of something that was; and
/// the most in Markdown, where pull requests accept 64 KiB.
inline constexpr size_t kMostBrief = 8, kMostInTerminal = 40, kMostInMarkdown = 30;
/// The most sentences of one block.
inline constexpr size_t kMostLines = 50;

/// Where something is shown. The page has room for details that texts leave out, and draws some of what texts say.
enum class Shown { Everywhere, OnPage, InText };
/// The weight of a text.
enum class Tone { Plain, Strong, Quiet };

/// A column of a table.
struct Column {
  /// Labels say what a row is about and come first; words are one or two; prose is the last column of a text. A drawing
  /// is SVG, which only the page can show.
  enum class Kind { Label, Number, Words, Prose, Drawing };
  std::string name;
  Kind kind = Kind::Number;
  Shown shown = Shown::Everywhere;
  /// The most columns of a terminal that a cell takes; the middle of longer texts is left out. 0: no limit.
  unsigned widest = 0;
};

/// A cell of a table: its text, and smaller texts below it.
struct Cell {
  std::string text;
  /// Texts of less weight below it: an interval, a published value.
  std::vector<std::string> below = {};
  /// Text that the page adds to the first of these.
  std::string more = {};
  Tone tone = Tone::Plain;

  /// Whether a smaller text belongs to it, and all of them on one line.
  bool hasBelow() const { return !below.empty(); }
  std::string inText(std::string_view separator) const {
    std::string out = text;
    for (const std::string& one : below) out.append(separator) += one;
    return out;
  }
};

/// A row of a table.
struct Row {
  std::vector<Cell> cells;
  /// Style of the verdict that the row is about (judge/meaning.h); "" for none.
  std::string_view style = {};

  /// Appends a cell and returns it. Cells stand in the order of the table's columns.
  Cell& add(std::string text, Tone tone = Tone::Plain) {
    return cells.emplace_back(Cell{std::move(text), {}, {}, tone});
  }
};

/// A table. `rows` may be fewer than `all`; renderers cut further and say how many are left.
struct Table {
  /// The table's name for screen readers.
  std::string label = {};
  /// A class of report.css.
  std::string style = "cells";
  std::vector<Column> columns = {};
  std::vector<Row> rows = {};
  /// Rows that there are; `rows` may be the first of them.
  size_t all = 0;
  /// Noun for a row, by which rows that are left out are counted.
  std::string one_row = "row";
  /// The factor whose levels the columns of values are; "" if they are none.
  std::string over = {};
  /// A drawing below the last column, as markup.
  std::string foot = {};
  /// Rows that a terminal shows, and where its reader finds the others.
  size_t most = kMostInTerminal;
  std::string rest = "the page has all";

  /// The heading of a column in media without a heading above several columns: "gpus=2" for the level 2 of the factor
  /// over the columns.
  std::string heading(const Column& column) const {
    return (over.empty() || column.kind == Column::Kind::Label ? "" : over + "=") + column.name;
  }
  /// The number of label columns, all of which come first.
  size_t labels() const {
    size_t count = 0;
    while (count < columns.size() && columns[count].kind == Column::Kind::Label) ++count;
    return count;
  }
};

/// A sentence or a few, with an optional word in front: "worse: 12 ms → 14 ms", "PASS → FAIL quick: forall …".
struct Paragraph {
  std::string text = {};
  Tone tone = Tone::Quiet;
  /// The word in front: an outcome, or a warning.
  std::string word = {};
  /// Style of the word: that of a verdict (judge/meaning.h), "" for none.
  std::string_view style = {};
  /// The subject, in bold; the text is about it.
  std::string of = {};
  /// How far it is indented below an earlier paragraph that it belongs to.
  unsigned depth = 0;
  Shown shown = Shown::Everywhere;
  /// The log that opens behind it on the page; "" says that there is none.
  std::optional<std::string> log = {};
  /// For a terminal: the columns that the word takes, beside which the text stands.
  unsigned room = 0;
  /// For a terminal: never wrapped, so that it can be copied.
  bool whole = false;
  /// For a terminal: a free line stands above it.
  bool apart = false;
};

/// A labelled fact: "claim", "how sure", "Workload" with its text.
struct Fact {
  std::string label, text;
  /// "result" for the fact that matters most, "warns" for a limit of the verdict, else "".
  std::string_view style = {};
  bool code = false;
};
/// A list of labelled facts.
struct Facts {
  std::vector<Fact> facts;
  /// A class of report.css.
  std::string style = "facts";
};

/// Markup for the page alone: charts. Texts skip it.
struct Figures {
  std::string markup;
};

struct Block;
/// A verdict at a glance: its style, sign and word.
struct Badge {
  std::string_view style, sign;
  std::string word;
};

/// Blocks under a title. In a terminal a part without a title belongs to the block above and is indented.
struct Part {
  std::string title = {};
  /// A formula: a definition, or the claim of a criterion.
  std::string law = {};
  /// A remark about everything in the part.
  std::string rest = {};
  std::vector<Block> blocks;
  /// Whether the page shows it closed, to open on a click.
  bool folded = false;
  /// Whether only the page shows the title; in texts the blocks then follow what stands above.
  bool titled_on_page = false;
  Shown shown = Shown::Everywhere;
  /// Badges of a criterion; a part with badges is its card, which links lead to.
  std::vector<Badge> badges = {};

  /// The formula and the remark, on one line.
  std::string about() const { return law + (law.empty() || rest.empty() ? "" : "; ") + rest; }
};

/// Any block. It derives from the variant so that Part can hold blocks.
struct Block : std::variant<Paragraph, Facts, Table, Figures, Part> {
  using variant::variant;
};

/// Appends a paragraph.
inline void say(std::vector<Block>& blocks, Paragraph paragraph) { blocks.emplace_back(std::move(paragraph)); }
/// Appends sentences, or other blocks of one type.
template <typename Those>
void append(std::vector<Block>& blocks, Those those) {
  blocks.insert(blocks.end(), std::make_move_iterator(those.begin()), std::make_move_iterator(those.end()));
}
/// Joins the first `most` of many texts: "a, b and 3 more". One more than `most` is shown rather than counted.
std::string fewOf(std::vector<std::string> texts, size_t most, std::string_view separator = ", ");
/// Cuts blocks to the first `most` and adds a paragraph `like` the given one that counts the others.
void shorten(std::vector<Block>& blocks, size_t most, const Paragraph& like = {}, const std::string& rest = "");
/// Turns texts into paragraphs.
inline std::vector<Block> sentences(const std::vector<std::string>& texts) {
  std::vector<Block> all;
  for (const std::string& text : texts) say(all, {text});
  return all;
}

/// Renders blocks for a terminal. Parts and sentences at the top level get a heading line, those inside a part a line.
std::string documentText(const std::vector<Block>& blocks, unsigned width, bool colour);
/// Renders blocks as markup of the page; all text in it is escaped.
std::string pageMarkup(const Block& block);
std::string pageMarkup(const std::vector<Block>& blocks);

}  // namespace expc::report
