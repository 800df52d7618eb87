#pragma once

// A file as the formatter sees it: tokens, each with the comments around it and the line breaks before it, the
// statements and blocks that they form, and the lines that they are laid out in.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/parse/cst.h"
#include "compiler/source/source.h"

namespace expc::format {

/// A comment that has a line of its own.
struct Comment {
  std::string_view text;       // from the strokes on, without blanks at its end
  unsigned breaks_before = 0;  // line breaks since what stands before it
};

struct Piece {
  parse::Token token = parse::Token::EndOfFile;
  parse::Rule rule = parse::Rule::File;         // the rule that the token is a part of
  parse::Token head = parse::Token::EndOfFile;  // the first token of the innermost statement
  std::string_view text;
  unsigned width = 0;                        // in characters
  unsigned breaks_before = 0;                // line breaks since what stands before it, comments included
  std::vector<Comment> leading;              // comments before it, each on its own line
  std::optional<std::string_view> trailing;  // a comment after it, on the same line
  uint32_t partner = parse::kNone;           // of a bracket: the other one
  bool begins_statement = false;
  bool brace_of_block = false;

  bool opens() const { return parse::opens(token); }
  bool closes() const { return parse::closes(token); }
};

struct Statement;

/// What stands in the braces of a study, a design, …; also the whole file, which has none.
struct Block {
  parse::Rule rule = parse::Rule::File;
  uint32_t open = parse::kNone;  // indices of the braces
  uint32_t close = parse::kNone;
  std::vector<Statement> statements;
};

/// Tokens [begin, end); a statement with a body ends with it.
struct Statement {
  uint32_t begin = 0;
  uint32_t end = 0;
  parse::Rule rule = parse::Rule::File;  // of the block that it is in
  std::optional<Block> body;
};

struct File {
  std::vector<Piece> pieces;  // the end of the file is the last
  Block top;

  /// Whether a line break stands between this piece and the one before.
  bool startsLine(uint32_t piece) const;
};

/// `tree` comes from a file without syntax errors.
File takeApart(const source::SourceManager& sources, const parse::Tree& tree);

/// The number of characters of a text in UTF-8.
unsigned widthOf(std::string_view text);

/// Blanks between two neighbours on one line: none, one, or the two that set clauses and statements apart.
unsigned blanksBetween(const Piece& left, const Piece& right);

/// A clause that is set apart with two blanks: `baseline x`, `when c`, `because "…"`, `with confidence 95%`, `from …`.
bool beginsClause(const Piece& piece);

// ---- lines

constexpr unsigned kIndent = 2;
constexpr unsigned kContinuation = 4;
constexpr unsigned kMaxWidth = 120;

/// A part of a line whose beginning is aligned with that of cells in the same place and of the same column.
struct Cell {
  std::string text;
  unsigned gap = 0;     // blanks before it, at least
  unsigned column = 0;  // only cells of one column are aligned
};

struct Line {
  unsigned indent = 0;
  bool blank_before = false;
  /// Neighbours with one token here have their columns aligned: the head that they share, or a sign that is typical of
  /// them; EndOfFile where they never are.
  parse::Token alike = parse::Token::EndOfFile;
  std::vector<Cell> cells;
  std::string_view comment;  // at the end; the whole line where there are no cells

  unsigned width() const;  // without the comment
};

/// A piece of a statement with which a column begins.
struct ColumnStart {
  uint32_t piece;
  unsigned column;  // only cells of one column are aligned with each other
};

struct Columns {
  parse::Token alike = parse::Token::EndOfFile;  // as in Line
  std::vector<ColumnStart> starts;               // in order
};

/// The columns of a statement that stands on one line: `factor NAME`, `in SET`, `baseline X`.
Columns columnsOf(const File& file, const Statement& statement);

/// Widens gaps so that the columns of neighbouring lines that are alike begin in one place. A line that would pass
/// kMaxWidth stays out.
void alignColumns(std::vector<Line>& lines);

/// The text of the lines, with comments that end neighbouring lines in one column.
std::string print(const std::vector<Line>& lines);

}  // namespace expc::format
