#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/format/pieces.h"
#include "compiler/parse/cst.h"

namespace expc::format {

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
