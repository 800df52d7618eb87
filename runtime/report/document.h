#pragma once

// What a report says, as blocks. A section builds them once; a terminal (document_text.cpp), the page
// (document_html.cpp) and Markdown (runtime/export/markdown.cpp) each show them in their own way. Texts in here are as
// people and machines wrote them: whoever shows a block makes them safe for its medium.

#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace expc::report {

/// Rows that a table holds at most: a page with more of them is slow to lay out, and its data has all of them. Rows
/// with drawings take longer.
inline constexpr size_t kMostRows = 500, kMostDrawn = 200;
/// Rows that a terminal shows: of what was not asked for with `--all`, and of what was; and those of Markdown, of which
/// pull requests take 64 KiB.
inline constexpr size_t kMostBrief = 8, kMostInTerminal = 40, kMostInMarkdown = 30;
/// Sentences of one block.
inline constexpr size_t kMostLines = 50;

/// Where something is shown. The page has room for what texts leave out, and some of what texts say is drawn there.
enum class Shown { Everywhere, OnPage, InText };
enum class Tone { Plain, Strong, Quiet };

struct Column {
  /// Labels say what a row is about and come first; words are one or two; prose is the last column of a text. What is
  /// in a drawing is SVG, which only the page has.
  enum class Kind { Label, Number, Words, Prose, Drawing };
  std::string name;
  Kind kind = Kind::Number;
  Shown shown = Shown::Everywhere;
  unsigned widest = 0;  // in a terminal; of longer texts the middle is left out; 0: none is cut
};

struct Cell {
  std::string text;
  std::vector<std::string> below = {};  // of less weight: an interval, a published value
  std::string more = {};                // what the page also says below, behind the first of these
  Tone tone = Tone::Plain;

  bool hasBelow() const { return !below.empty(); }
  std::string inText(std::string_view separator) const {
    std::string out = text;
    for (const std::string& one : below) out.append(separator) += one;
    return out;
  }
};

struct Row {
  std::vector<Cell> cells;
  std::string_view style = {};  // of a verdict (analysis/meaning.h)

  Cell& add(std::string text, Tone tone = Tone::Plain) {
    return cells.emplace_back(Cell{std::move(text), {}, {}, tone});
  }
};

struct Table {
  std::string label;            // names it for who does not see it
  std::string style = "cells";  // a class of report.css
  std::vector<Column> columns = {};
  std::vector<Row> rows = {};
  size_t all = 0;                         // rows that there are; `rows` may be the first of them
  std::string one_row = "row";            // what a row is
  std::string over = {};                  // the factor whose levels the columns of values are; "": they are not
  std::string foot = {};                  // a drawing below the last column
  size_t most = kMostInTerminal;          // rows that a terminal shows
  std::string rest = "the page has all";  // where its reader finds the others

  /// What heads a column where nothing stands above it.
  std::string heading(const Column& column) const {
    return (over.empty() || column.kind == Column::Kind::Label ? "" : over + "=") + column.name;
  }
  size_t labels() const {
    size_t count = 0;
    while (count < columns.size() && columns[count].kind == Column::Kind::Label) ++count;
    return count;
  }
};

/// A sentence, or a few: "worse: 12 ms → 14 ms", "PASS → FAIL quick: forall …".
struct Paragraph {
  std::string text = {};
  Tone tone = Tone::Quiet;
  std::string word = {};        // stands in front: what it comes to, or warns of
  std::string_view style = {};  // of the word: a verdict's (analysis/meaning.h), "" for none
  std::string of = {};          // what it speaks of, in bold; the text is said of that
  unsigned depth = 0;           // below one that goes before
  Shown shown = Shown::Everywhere;
  std::optional<std::string> log = {};  // what stands behind it on the page
  // In a terminal:
  unsigned room = 0;   // columns of the word, beside which the rest stands
  bool whole = false;  // on one line, so that it can be taken over
  bool apart = false;  // below a free line
};

/// What is said of one thing, behind what it is of: "claim", "how sure", "Workload".
struct Fact {
  std::string label, text;
  std::string_view style = {};  // "result" of what matters most, "warns" of what it may not be taken for
  bool code = false;
};
struct Facts {
  std::vector<Fact> facts;
  std::string style = "facts";  // a class of report.css
};

/// Markup that only the page has: its charts.
struct Figures {
  std::string markup;
};

struct Block;
/// What a verdict is, at a glance.
struct Badge {
  std::string_view style, sign;
  std::string word;
};

/// Blocks under a title; in a terminal without one they belong to what stands above.
struct Part {
  std::string title = {};
  std::string law = {};   // a formula
  std::string rest = {};  // what is to be known of all of it
  std::vector<Block> blocks;
  bool folded = false;          // the page opens it on a click
  bool titled_on_page = false;  // only the page has a title here: elsewhere the blocks follow what stands above
  Shown shown = Shown::Everywhere;
  std::vector<Badge> badges = {};  // of a criterion, which the page can be sent to

  std::string about() const { return law + (law.empty() || rest.empty() ? "" : "; ") + rest; }
};

struct Block : std::variant<Paragraph, Facts, Table, Figures, Part> {
  using variant::variant;
};

/// Adds sentences, or other blocks of one kind.
template <typename Those>
void append(std::vector<Block>& blocks, Those those) {
  blocks.insert(blocks.end(), std::make_move_iterator(those.begin()), std::make_move_iterator(those.end()));
}
/// The first of many: "a, b and 3 more"; all where there is one more than `most`.
std::string fewOf(std::vector<std::string> texts, size_t most, std::string_view separator = ", ");
/// Leaves the first of many, and says how many there are beside them.
void shorten(std::vector<Block>& blocks, size_t most, const Paragraph& like = {}, const std::string& rest = "");
inline std::vector<Block> sentences(const std::vector<std::string>& texts) {
  std::vector<Block> all;
  for (const std::string& text : texts) all.emplace_back(Paragraph{text});
  return all;
}

/// As text of a terminal. Parts and sentences have a heading where they stand by themselves, and a line inside a part.
std::string documentText(const std::vector<Block>& blocks, unsigned width, bool colour);
/// As markup of the page.
std::string pageMarkup(const Block& block);
std::string pageMarkup(const std::vector<Block>& blocks);

}  // namespace expc::report
