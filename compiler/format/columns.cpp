#include "compiler/format/columns.h"

#include <algorithm>

namespace expc::format {

using parse::Rule;
using parse::Token;

namespace {

// The columns of one kind of line; the numbers only tell them apart.
enum Column : unsigned { kMain, kClause, kTableBy, kPlotOver, kPlotBy };

/// A column begins at one of two tokens past the last column, or behind it.
struct Stop {
  Token token = Token::EndOfFile, other = Token::EndOfFile;
  unsigned column = kMain;
  bool behind = false;
};

/// The columns of statements that begin with a word; only those in which the first is found are aligned.
struct Shape {
  Token head;
  Token alike;
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
    {Token::Control, Token::Compare, {kAssign}},  // as long a word: they line up as one table
    {Token::Criterion, Token::Criterion, {kBehindColon}},
    {Token::Table, Token::Table, {{.token = Token::Table, .behind = true}, {.token = Token::By, .column = kTableBy}}},
    {Token::Plot,
     Token::Table,
     {{.token = Token::Plot, .behind = true},
      {.token = Token::Over, .column = kPlotOver},
      {.token = Token::By, .column = kPlotBy}}},
    {Token::Only, Token::Only, {kIn}},
};

/// The first of a stop's tokens from `at` on, outside of brackets.
uint32_t find(const File& file, const Statement& statement, uint32_t at, const Stop& stop) {
  for (; at < statement.end; ++at) {
    const Piece& piece = file.pieces[at];
    if ((piece.token == stop.token || piece.token == stop.other) && piece.rule != Rule::AnyWord) break;
    if (piece.opens()) at = piece.partner;
  }
  return at;
}

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

/// `name = value`, `name value`, by what follows the dotted name.
Columns ofPair(const File& file, const Statement& statement) {
  uint32_t next = statement.begin + 1;
  while (next + 1 < statement.end && file.pieces[next].token == Token::Dot) next += 2;
  if (next >= statement.end) return {};
  if (file.pieces[next].token == Token::Assign) return {Token::Assign, {{next, kMain}}};
  if (statement.rule != Rule::DesignBody && statement.rule != Rule::KindBody) return {};
  return {Token::Number, {{statement.begin + 1, kMain}}};
}

/// `timed { repeat 10  steps 5 }`: its settings.
Columns ofKind(const Statement& statement) {
  if (statement.body->rule != Rule::KindBody || statement.body->statements.empty()) return {};
  Columns out{Token::LeftBrace, {{statement.begin + 1, kMain}}};
  for (size_t at = 1; at < statement.body->statements.size(); ++at)
    out.starts.push_back({statement.body->statements[at].begin, kMain});
  return out;
}

}  // namespace

Columns columnsOf(const File& file, const Statement& statement) {
  if (statement.body) return ofKind(statement);
  const Token head = file.pieces[statement.begin].token;
  const bool assigns = parse::isWord(head) && file.pieces[statement.begin + 1].token == Token::Assign;
  const auto* shape = std::ranges::find(kShapes, head, &Shape::head);
  // A preset's argument, whatever its name is.
  if (!assigns && shape != std::end(kShapes)) return ofShape(file, statement, *shape);
  return parse::isWord(head) ? ofPair(file, statement) : Columns{};
}

}  // namespace expc::format
