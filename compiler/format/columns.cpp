#include "compiler/format/columns.h"

#include <initializer_list>

namespace expc::format {

using parse::Rule;
using parse::Token;

namespace {

// The columns of one kind of line; the numbers only tell them apart.
enum Column : unsigned { kMain, kClause, kTableBy, kPlotOver, kPlotBy };

/// Finds columns in one statement, looking outside of brackets only.
class Finder {
 public:
  Finder(const File& file, const Statement& statement) : file_(file), statement_(statement) {}

  Columns take() { return std::move(out_); }

  /// A column begins at the first of `tokens` past the last column.
  bool at(std::initializer_list<Token> tokens, unsigned column = kMain) {
    const uint32_t found = find(tokens);
    if (found < statement_.end) out_.starts.push_back({found, column});
    return found < statement_.end;
  }
  /// A column begins after `token`.
  bool after(Token token) {
    const uint32_t found = find({token});
    if (found + 1 < statement_.end) out_.starts.push_back({found + 1, kMain});
    return found + 1 < statement_.end;
  }
  void afterHead() {
    if (statement_.begin + 1 < statement_.end) out_.starts.push_back({statement_.begin + 1, kMain});
  }

  void kind(LineKind kind) { out_.kind = kind; }
  /// Of this kind if a first column was found.
  void kind(LineKind kind, bool found) {
    if (found) out_.kind = kind;
  }

 private:
  uint32_t find(std::initializer_list<Token> tokens) const {
    uint32_t at = out_.starts.empty() ? statement_.begin + 1 : out_.starts.back().piece + 1;
    for (; at < statement_.end; ++at) {
      const Piece& piece = file_.pieces[at];
      for (Token token : tokens)
        if (piece.token == token && piece.rule != Rule::AnyWord) return at;
      if (piece.opens()) at = piece.partner;
    }
    return statement_.end;
  }

  const File& file_;
  const Statement& statement_;
  Columns out_;
};

/// `name = value`, `name value`, by what follows the dotted name.
void findInPair(Finder& finder, const File& file, const Statement& statement) {
  uint32_t next = statement.begin + 1;
  while (next + 1 < statement.end && file.pieces[next].token == Token::Dot) next += 2;
  if (next >= statement.end) return;
  if (file.pieces[next].token == Token::Assign) {
    finder.kind(LineKind::Assignment, finder.at({Token::Assign}));
  } else if (statement.rule == Rule::DesignBody || statement.rule == Rule::KindBody) {
    finder.kind(LineKind::Setting);
    finder.afterHead();
  }
}

void findInKindBlock(Finder& finder, const Statement& statement) {
  finder.kind(LineKind::KindBlock);
  finder.afterHead();
}

}  // namespace

Columns columnsOf(const File& file, const Statement& statement) {
  Finder finder(file, statement);
  if (statement.body) {
    if (statement.body->rule != Rule::KindBody || statement.body->statements.empty()) return {};
    findInKindBlock(finder, statement);
    Columns out = finder.take();
    for (size_t at = 1; at < statement.body->statements.size(); ++at)
      out.starts.push_back({statement.body->statements[at].begin, kMain});
    return out;
  }
  const Token head = file.pieces[statement.begin].token;
  if (parse::isWord(head) && file.pieces[statement.begin + 1].token == Token::Assign) {
    findInPair(finder, file, statement);  // a preset's argument, whatever its name is
    return finder.take();
  }
  switch (head) {
    case Token::Unit:
    case Token::Let:
      finder.kind(LineKind::Let, finder.at({Token::Assign}));
      break;
    case Token::Control:
      finder.kind(LineKind::Compare, finder.at({Token::Assign}));  // as long a word: they line up as one table
      break;
    case Token::Workload:
      finder.kind(LineKind::Workload, finder.at({Token::Assign}));
      break;
    case Token::Param:
      finder.kind(LineKind::Param, finder.at({Token::Colon}));
      finder.at({Token::When, Token::With}, kClause);
      break;
    case Token::Metric:
      finder.kind(LineKind::Metric, finder.at({Token::Colon, Token::Assign}));
      finder.at({Token::From}, kClause);
      break;
    case Token::Estimate:
      finder.kind(LineKind::Estimate, finder.at({Token::Assign}));
      finder.at({Token::When}, kClause);
      break;
    case Token::Require:
    case Token::Exclude:
      finder.kind(LineKind::Rule, finder.after(Token::Colon));
      break;
    case Token::Factor:
      finder.kind(LineKind::Factor, finder.at({Token::In}));
      while (finder.at({Token::Baseline, Token::When}, kClause)) continue;
      break;
    case Token::Compare:
      finder.kind(LineKind::Compare, finder.at({Token::Assign}));
      finder.at({Token::Over}, kClause);
      break;
    case Token::Criterion:
      finder.kind(LineKind::Criterion, finder.after(Token::Colon));
      break;
    case Token::Table:
      finder.kind(LineKind::Output);
      finder.afterHead();
      finder.at({Token::By}, kTableBy);
      break;
    case Token::Plot:
      finder.kind(LineKind::Output);
      finder.afterHead();
      finder.at({Token::Over}, kPlotOver);
      finder.at({Token::By}, kPlotBy);
      break;
    case Token::Only:
      finder.kind(LineKind::Only, finder.at({Token::In}));
      break;
    default:
      if (parse::isWord(head)) findInPair(finder, file, statement);
      break;
  }
  return finder.take();
}

}  // namespace expc::format
