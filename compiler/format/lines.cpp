// Columns: where they begin in each kind of statement, how neighbours are aligned, and the printing of the finished
// lines.
//
// Alignment works on runs: lines that follow each other without an empty line, with the same indentation and the same
// `alike`. Column by column from the left, each cell is moved to the right until all cells of the run with the same
// column number begin at one place. The table kShapes says where columns begin.

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <map>

#include "compiler/format/pieces.h"

namespace expc::format {

using parse::Rule;
using parse::Token;

namespace {

/// The width of a line up to the end of cell `cell`.
unsigned endOf(const Line& line, size_t cell) {
  unsigned end = line.indent;
  for (size_t at = 0; at <= cell; ++at) end += line.cells[at].gap + widthOf(line.cells[at].text);
  return end;
}

/// Aligns cell `cell` of the lines, all of which have it. While a line would become too long, the lines that reach
/// furthest right are left out, since they are the reason.
void alignCell(std::vector<Line*> lines, size_t cell) {
  while (lines.size() > 1) {
    const auto start = [&](const Line* line) { return endOf(*line, cell - 1) + line->cells[cell].gap; };
    // Repeat until the rest fits: align to the widest line, or leave that one out.
    const auto widest = *std::ranges::max_element(lines, [&](Line* a, Line* b) { return start(a) < start(b); });
    const unsigned column = start(widest);
    const bool fits =
        std::ranges::all_of(lines, [&](const Line* line) { return line->width() + column - start(line) <= kMaxWidth; });
    if (fits) {
      for (Line* line : lines) line->cells[cell].gap += column - start(line);
      return;
    }
    std::erase_if(lines, [&, limit = column](const Line* line) { return start(line) == limit; });
  }
}

/// Aligns all cells of a run of lines [first, last).
void alignRun(Line* first, Line* last) {
  size_t cells = 0;
  for (Line* line = first; line != last; ++line) cells = std::max(cells, line->cells.size());
  for (size_t cell = 1; cell < cells; ++cell) {
    // Cells at the same place but of different columns, such as a table's `by` and a plot's `over`, are aligned apart.
    std::map<unsigned, std::vector<Line*>> members;
    for (Line* line = first; line != last; ++line)
      if (cell < line->cells.size()) members[line->cells[cell].column].push_back(line);
    for (auto& [column, lines] : members) alignCell(std::move(lines), cell);
  }
}

/// The column at which the comments of the run that begins with `first` start: two blanks behind its widest line.
unsigned commentColumn(const std::vector<Line>& lines, size_t first) {
  unsigned column = 0;
  for (size_t at = first; at < lines.size(); ++at) {
    const Line& line = lines[at];
    if (line.cells.empty() || line.comment.empty() || (at > first && line.blank_before)) break;
    column = std::max(column, line.width() + 2);
  }
  return column;
}

// Numbers of columns; they only tell columns of one kind of line apart.
enum Column : unsigned { kMain, kClause, kTableBy, kPlotOver, kPlotBy };

/// Where a column begins: at the first of one or two tokens behind the previous column, or right behind that token.
struct Stop {
  Token token = Token::EndOfFile, other = Token::EndOfFile;
  unsigned column = kMain;
  bool behind = false;  // the column begins behind the token
};

/// The columns of statements that begin with one word. A statement without the first stop is not aligned at all; later
/// ones may be missing.
struct Shape {
  Token head;   // the first token of the statements
  Token alike;  // statements with the same token are aligned with each other
  Stop stops[3];
};

constexpr Stop kAssign{Token::Assign}, kIn{Token::In}, kBehindColon{.token = Token::Colon, .behind = true};
constexpr Stop kWhen{.token = Token::When, .column = kClause};
constexpr Stop kBaselineOrWhen{Token::Baseline, Token::When, kClause};

constexpr Shape kShapes[] = {
    {Token::Unit, Token::Let, {kAssign}},
    {Token::Let, Token::Let, {kAssign}},
    {Token::Workload, Token::Workload, {kAssign}},
    {Token::Param, Token::Param, {{Token::Colon}, {Token::When, Token::With, kClause}}},
    {Token::Metric, Token::Metric, {{Token::Colon, Token::Assign}, {.token = Token::From, .column = kClause}}},
    {Token::Estimate, Token::Estimate, {kAssign, kWhen}},
    {Token::Require, Token::Require, {kBehindColon}},
    {Token::Exclude, Token::Require, {kBehindColon}},
    {Token::Factor, Token::Factor, {kIn, kBaselineOrWhen, kBaselineOrWhen}},
    {Token::Compare, Token::Compare, {kAssign, {.token = Token::Over, .column = kClause}}},
    {Token::Control, Token::Compare, {kAssign}},  // `control` is as long as `compare`, so they line up as one table
    {Token::Criterion, Token::Criterion, {kBehindColon}},
    {Token::Expected, Token::Expected, {kAssign, {.token = Token::Noise, .column = kClause}}},
    {Token::Table, Token::Table, {{.token = Token::Table, .behind = true}, {.token = Token::By, .column = kTableBy}}},
    {Token::Plot,
     Token::Table,
     {{.token = Token::Plot, .behind = true},
      {.token = Token::Over, .column = kPlotOver},
      {.token = Token::By, .column = kPlotBy}}},
    {Token::Only, Token::Only, {kIn}},
};

/// The first of a stop's tokens from `at` on, outside of brackets; the end of the statement if there is none.
uint32_t find(const File& file, const Statement& statement, uint32_t at, const Stop& stop) {
  for (; at < statement.end; ++at) {
    const Piece& piece = file.pieces[at];
    if ((piece.token == stop.token || piece.token == stop.other) && piece.rule != Rule::AnyWord) break;
    if (piece.opens()) at = piece.partner;
  }
  return at;
}

/// The columns of a statement by its shape.
Columns ofShape(const File& file, const Statement& statement, const Shape& shape) {
  Columns out{shape.alike, {}};
  uint32_t from = statement.begin;
  for (const Stop& stop : shape.stops) {
    if (stop.token == Token::EndOfFile) break;
    const uint32_t found = find(file, statement, from, stop) + (stop.behind ? 1 : 0);
    if (found < statement.end) {
      out.starts.push_back({found, stop.column});
      from = found + 1;
    } else if (out.starts.empty()) {
      return {};
    }
  }
  return out;
}

/// The columns of `name = value` or, in designs, `name value`, by what follows the dotted name.
Columns ofPair(const File& file, const Statement& statement) {
  uint32_t next = statement.begin + 1;
  while (next + 1 < statement.end && file.pieces[next].token == Token::Dot) next += 2;
  if (next >= statement.end) return {};
  if (file.pieces[next].token == Token::Assign) return {Token::Assign, {{next, kMain}}};
  if (statement.rule != Rule::DesignBody && statement.rule != Rule::KindBody) return {};
  return {Token::Number, {{statement.begin + 1, kMain}}};
}

/// The columns of `timed { repeat 10  steps 5 }`: each of its settings.
Columns ofKind(const Statement& statement) {
  if (statement.body->rule != Rule::KindBody || statement.body->statements.empty()) return {};
  Columns out{Token::LeftBrace, {{statement.begin + 1, kMain}}};
  for (size_t at = 1; at < statement.body->statements.size(); ++at)
    out.starts.push_back({statement.body->statements[at].begin, kMain});
  return out;
}

}  // namespace

unsigned Line::width() const { return cells.empty() ? indent : endOf(*this, cells.size() - 1); }

void alignColumns(std::vector<Line>& lines) {
  for (size_t first = 0; first < lines.size();) {
    // [first, last) is a run.
    size_t last = first + 1;
    if (lines[first].alike != parse::Token::EndOfFile)
      while (last < lines.size() && lines[last].alike == lines[first].alike &&
             lines[last].indent == lines[first].indent && !lines[last].blank_before)
        ++last;
    if (last - first > 1) alignRun(&lines[first], &lines[first] + (last - first));
    first = last;
  }
}

std::string print(const std::vector<Line>& lines) {
  std::string out;
  unsigned column = 0;  // where comments of the current run begin; 0 outside of one
  for (const auto& [at, line] : llvm::enumerate(lines)) {
    if (line.blank_before && at > 0) out += '\n';
    out.append(line.indent, ' ');
    for (const Cell& cell : line.cells) out.append(cell.gap, ' ').append(cell.text);
    if (line.cells.empty()) {
      out += line.comment;
      column = 0;
    } else if (line.comment.empty()) {
      column = 0;
    } else {
      if (column == 0 || line.blank_before) column = commentColumn(lines, at);
      out.append(column - line.width(), ' ').append(line.comment);
    }
    out += '\n';
  }
  return out;
}

Columns columnsOf(const File& file, const Statement& statement) {
  if (statement.body) return ofKind(statement);
  const Token head = file.pieces[statement.begin].token;
  // `table = 3` in a preset assigns to a parameter that is called like a head word.
  const bool assigns = parse::isWord(head) && file.pieces[statement.begin + 1].token == Token::Assign;
  const auto* shape = std::ranges::find(kShapes, head, &Shape::head);
  // A preset's argument, whatever its name is.
  if (!assigns && shape != std::end(kShapes)) return ofShape(file, statement, *shape);
  return parse::isWord(head) ? ofPair(file, statement) : Columns{};
}

}  // namespace expc::format
