#pragma once

// The types that the formatter's stages hand to each other. takeApart() makes a File of the concrete tree: Pieces
// (tokens with the comments around them and the line breaks before them), grouped into Statements and Blocks. The
// layout makes Lines of it, whose Cells are aligned with those of their neighbours before they are printed.
//
// All texts are views of the file's text, which the source manager owns and must keep. Widths are in characters, not
// bytes.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/source.h"
#include "compiler/parse/cst.h"

namespace expc::format {

/// A comment that has a line of its own.
struct Comment {
  std::string_view text;       // from the strokes on, without blanks at its end
  unsigned breaks_before = 0;  // line breaks since the token or comment before; two or more mean an empty line
};

/// A token, with everything that the layout needs to know of its surroundings.
struct Piece {
  parse::Token token = parse::Token::EndOfFile;
  parse::Rule rule = parse::Rule::File;         // the innermost rule that the token belongs to
  parse::Token head = parse::Token::EndOfFile;  // the first token of the innermost statement
  std::string_view text;
  unsigned width = 0;                        // in characters
  unsigned breaks_before = 0;                // line breaks since the token or comment before
  std::vector<Comment> leading;              // comments before it, each on its own line
  std::optional<std::string_view> trailing;  // a comment after it, on the same line
  uint32_t partner = parse::kNone;           // index of the matching bracket, if this is one
  bool begins_statement = false;
  bool brace_of_block = false;  // a brace around statements, not around a set or record

  bool opens() const { return parse::opens(token); }
  bool closes() const { return parse::closes(token); }
};

struct Statement;

/// The statements in the braces of a study, a design, …; also those of the whole file, which has no braces.
struct Block {
  parse::Rule rule = parse::Rule::File;
  uint32_t open = parse::kNone;  // indices of the braces; kNone for the file
  uint32_t close = parse::kNone;
  std::vector<Statement> statements;
};

/// The pieces [begin, end) of a statement. Its body, if it has one, is the last part of it.
struct Statement {
  uint32_t begin = 0;
  uint32_t end = 0;
  parse::Rule rule = parse::Rule::File;  // the block that it stands in
  std::optional<Block> body;
};

/// A file taken apart.
struct File {
  std::vector<Piece> pieces;  // in the order of the text; the last is the end of the file
  Block top;

  /// Whether the author broke the line in front of this piece, or a comment there does.
  bool startsLine(uint32_t piece) const;
};

/// Takes a file apart. `tree` must come from it and have no syntax errors.
File takeApart(const source::SourceManager& sources, const parse::Tree& tree);

/// The number of characters of a text in UTF-8.
unsigned widthOf(std::string_view text);

/// Blanks between two neighbours on one line: none, one, or the two in front of clauses and statements.
unsigned blanksBetween(const Piece& left, const Piece& right);

/// Whether a piece begins a clause that two blanks set apart: `baseline x`, `when c`, `because "…"`, `with confidence
/// 95%`, `from …`.
bool beginsClause(const Piece& piece);

// ---- lines

/// Blanks per level of nesting; blanks in front of the later lines of a statement; the longest line, in characters.
constexpr unsigned kIndent = 2;
constexpr unsigned kContinuation = 4;
constexpr unsigned kMaxWidth = 120;

/// A part of a line whose beginning is aligned with the cells at the same place in neighbouring lines.
struct Cell {
  std::string text;
  unsigned gap = 0;     // blanks before it; alignment widens them
  unsigned column = 0;  // only cells with the same number are aligned
};

/// A line of the result before alignment.
struct Line {
  unsigned indent = 0;
  bool blank_before = false;
  /// Neighbours with the same token here have their columns aligned. It is the head that they share, or a sign that is
  /// typical of them (`=` for assignments); EndOfFile if the line is never aligned.
  parse::Token alike = parse::Token::EndOfFile;
  std::vector<Cell> cells;
  std::string_view comment;  // the comment at its end; the whole line if there are no cells

  unsigned width() const;  // in characters, without the comment
};

/// The piece of a statement at which a column begins.
struct ColumnStart {
  uint32_t piece;
  unsigned column;  // only cells with the same number are aligned
};

/// The columns of a statement; no starts if it has none to align.
struct Columns {
  parse::Token alike = parse::Token::EndOfFile;  // as in Line
  std::vector<ColumnStart> starts;               // in the order of the pieces
};

/// The columns of a statement that stands on one line: `factor NAME`, `in SET`, `baseline X`.
Columns columnsOf(const File& file, const Statement& statement);

/// Widens gaps so that the columns of alike neighbours begin at one place. A line that alignment would make longer than
/// kMaxWidth stays out of it.
void alignColumns(std::vector<Line>& lines);

/// The text of the lines. Comments at the ends of neighbouring lines begin in one column.
std::string print(const std::vector<Line>& lines);

}  // namespace expc::format
